import { TooManyRequests } from '../errors.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Pool } from 'pg';
import { EventLog } from '../event-log/event-log.js';
import { finishesWithin } from '../flow/deadline.js';
import { singleFlight } from '../flow/single-flight.js';
import { compiled } from '../read-models/compiled-statement.js';
import { FactCounts, type Facts, factBoundOf, type Weigh, type Weighable } from './fact-counts.js';

/**
 * The projector counts `window` facts in 50 to 100 ms with a core of its own, and in half a second when seven others
 * compete for its two.
 */
const BOUNDS = { window: 2_000, harmless: 500 };
/** Facts per append: a batch of 1,000 ordinary events. */
const MAX_AT_ONCE = BOUNDS.window;
const LOOK_EVERY_MS = 20;
/** The longest wait for the checkpoint: if the database does not respond, the append will find out. */
const MAX_LOOK_MS = 300;
/** How old the answer of `countedAsOf` may be, besides what it takes to read it. */
const COUNTED_FOR_MS = 100;
/** Bodies held in memory at once. */
const MAX_HELD = 64;
/** If the projector has not moved for this long, holding back helps nobody: everything is stored. */
const STOPPED_MS = 2_000;
/** If `as_of` stands still for this long, the position tells what was counted. */
const STANDSTILL_MS = 200;
const RETRY_AFTER_SECONDS = 1;
const MESSAGES = {
  counting: 'Too many events wait to be counted; retry after the number of seconds in Retry-After',
  storing: 'Too many events are being stored; retry after the number of seconds in Retry-After',
};
/** Appends tracked as waiting; beyond, the oldest are assumed counted. */
const MAX_WAITING = 20_000;

const readMetricsCheckpoint = compiled('pace-as-of', (db) =>
  db.selectFrom('checkpoints').select(['as_of', 'position']).where('projection', '=', sql.lit('metrics')),
);

/** What a request waits for: stored facts to be counted, or other requests to be stored. */
type Obstacle = keyof typeof MESSAGES;

/** How long one request may still be held, over all its appends. ms */
export interface Patience {
  /** Until too many facts are counted; a projector that is not behind uses none of it, however slow the log is. */
  counting: number;
  /** For whatever reason, because a held body takes memory. */
  total: number;
}
export const newPatience = (): Patience => ({ counting: 2_000, total: 10_000 });

/** Events stored together and not yet counted. */
interface Waiting {
  /** When they were appended. ms */
  readonly at: number;
  readonly facts: Facts;
}

/**
 * Backpressure: keeps one organization's backfill from delaying the others. The log stores events faster than they can
 * be counted, and they are counted in order. So when more facts wait than can be counted in a moment, requests of the
 * organizations with the most of them are held until fewer do, or rejected with 429. The unit is facts because they are
 * the cost: one event may be fifty of them.
 */
@Injectable()
export class IngestBackpressure {
  private waiting: Waiting[] = [];
  /** Being stored, or stored and not yet counted. */
  private readonly admitted = new FactCounts(BOUNDS);
  /** Those of them that are stored: nobody can be blamed for counting the others late. */
  private readonly uncounted = new FactCounts(BOUNDS);
  private held = 0;
  private lookedAt = 0;
  private readonly readCountedOnce = singleFlight(() => this.readCounted());
  private counted = { asOf: 0, asOfChangedAt: 0, position: 0, changedAt: 0 };
  /** Where the log ended at some instant (ms), asked for while `as_of` stands still. */
  private end: { readonly at: number; readonly position: bigint } | undefined;
  private readonly askEnd = singleFlight(async (): Promise<void> => {
    const at = Date.now();
    // The append finds out what is the matter with the log.
    const position = await this.log.head().catch(() => undefined);
    if (position !== undefined) this.end = { at, position };
  });

  constructor(
    private readonly pool: Pool,
    private readonly log: EventLog,
  ) {}

  /** The first entries, up to one append; at least one. */
  portion<Entry extends Weighable>(entries: readonly Entry[], weigh: Weigh = factBoundOf): readonly Entry[] {
    let facts = 0;
    const end = entries.findIndex((entry, index) => (facts += weigh(entry)) > MAX_AT_ONCE && index > 0);
    return end === -1 ? entries : entries.slice(0, end);
  }

  /**
   * Resolves when these facts may be stored; from then on they are `admitted` until they are counted, or released.
   * @param patience is reduced by the time that the request was held
   * @throws TooManyRequests if they would have to wait longer
   */
  async admit(facts: Facts, patience = newPatience()): Promise<void> {
    let obstacle = await this.obstacleTo(facts);
    if (obstacle !== undefined) {
      const isCrowded = this.held >= MAX_HELD;
      this.held += 1;
      try {
        while (obstacle !== undefined) {
          if (isCrowded || patience.total <= 0 || (obstacle === 'counting' && patience.counting <= 0))
            throw new TooManyRequests(RETRY_AFTER_SECONDS, MESSAGES[obstacle]);
          const before = performance.now();
          await sleep(LOOK_EVERY_MS);
          const next = await this.obstacleTo(facts);
          const held = performance.now() - before;
          patience.total -= held;
          if (obstacle === 'counting') patience.counting -= held;
          obstacle = next;
        }
      } finally {
        this.held -= 1;
      }
    }
    this.admitted.add(facts);
  }

  /** Marks admitted facts as in the log, to be counted. */
  stored(facts: Facts): void {
    if (this.waiting.length >= MAX_WAITING) this.forget(MAX_WAITING / 2);
    this.uncounted.add(facts);
    this.waiting.push({ at: Date.now(), facts });
  }

  /** Forgets admitted facts that were not stored, as far as is known. */
  release(facts: Facts): void {
    this.admitted.remove(facts);
  }

  /**
   * The instant (ms) before which everything acknowledged is counted, as of a moment ago; undefined if it is not known.
   */
  async countedAsOf(): Promise<number | undefined> {
    await this.look(COUNTED_FOR_MS);
    return this.counted.asOf === 0 ? undefined : this.counted.asOf;
  }

  private async obstacleTo(facts: Facts): Promise<Obstacle | undefined> {
    if (!this.admitted.isFullFor(facts)) return undefined;
    await this.look(LOOK_EVERY_MS);
    const isHeldBackBy = (counts: FactCounts): boolean => counts.isFullFor(facts) && counts.areOfHeavy(facts);
    if (!isHeldBackBy(this.admitted)) return undefined;
    return isHeldBackBy(this.uncounted) ? 'counting' : 'storing';
  }

  private async look(everyMs: number): Promise<void> {
    if (Date.now() - this.lookedAt >= everyMs) await finishesWithin(this.readCountedOnce(), MAX_LOOK_MS);
  }

  private async readCounted(): Promise<void> {
    // Callers that need the database report its failure; here it only means that nothing is known.
    const { as_of: asOf, position } = await readMetricsCheckpoint(this.pool, {}).then(
      ([row]) => row ?? { as_of: 0, position: 0 },
      () => ({ as_of: 0, position: 0 }),
    );
    const now = Date.now();
    this.lookedAt = now;
    const hasMoved = asOf !== this.counted.asOf;
    const asOfChangedAt = hasMoved ? now : this.counted.asOfChangedAt;
    const changedAt = hasMoved || position !== this.counted.position ? now : this.counted.changedAt;
    this.counted = { asOf, asOfChangedAt, position, changedAt };
    const until = Math.max(asOf, this.countedByPosition(now));
    const counted =
      now - changedAt > STOPPED_MS ? this.waiting.length : this.waiting.findIndex(({ at }) => at >= until);
    this.forget(counted === -1 ? this.waiting.length : counted);
  }

  /**
   * Within a long page, and for seconds under a new leader of EventStoreDB, `as_of` stands still while events are
   * counted. What was stored before the log's end was asked for is counted once the position is there.
   * @returns the instant (ms) before which everything stored has been counted; 0 if that is unknown
   */
  private countedByPosition(now: number): number {
    const { end } = this;
    const isReached = end !== undefined && BigInt(this.counted.position) >= end.position;
    if (now - this.counted.asOfChangedAt > STANDSTILL_MS && (end === undefined || isReached)) void this.askEnd();
    return isReached ? end.at : 0;
  }

  private forget(length: number): void {
    for (const { facts } of this.waiting.splice(0, length)) {
      this.admitted.remove(facts);
      this.uncounted.remove(facts);
    }
  }
}
