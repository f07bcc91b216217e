import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Pool } from 'pg';
import { EventLog } from '../event-log/event-log.js';
import { factsAtMost } from '../events/facts-at-most.js';
import { TooManyRequests } from '../http/errors/error-response.js';
import { compiled } from '../read-models/compiled.js';

/**
 * Uncounted facts above which the organizations with the most of them are held back. The projector counts this many in
 * 50 to 100 ms with a core of its own, and in half a second when seven others compete for its two.
 */
const WINDOW = 2_000;
/** An organization with fewer waiting facts than this is never held back. */
const HARMLESS = 500;
/** Facts per append: a batch of 1,000 ordinary events. */
const MAX_AT_ONCE = WINDOW;
/** The longest a request is held; then its sender gets a 429. */
export const MAX_HOLD_MS = 2_000;
const LOOK_EVERY_MS = 20;
/** The longest wait for the checkpoint: if the database does not respond, the append will find out. */
const MAX_LOOK_MS = 300;
/** Bodies held in memory at once. */
const MAX_HELD = 64;
/** If the projector has not moved for this long, holding back helps nobody: everything is stored. */
const STOPPED_MS = 2_000;
/** If `as_of` stands still for this long, the position tells what was counted. */
const STANDSTILL_MS = 200;
const RETRY_AFTER_SECONDS = 1;
const MESSAGE = 'Too many events wait to be counted; retry after the number of seconds in Retry-After';
/** Appends tracked as waiting; beyond, the oldest are assumed counted. */
const MAX_WAITING = 20_000;

const readMetricsCheckpoint = compiled('pace-as-of', (db) =>
  db.selectFrom('checkpoints').select(['as_of', 'position']).where('projection', '=', sql.lit('metrics')),
);

/** Facts per organization; '' = entries of the status history. */
export type Facts = ReadonlyMap<string, number>;

/** Events stored together and not yet counted. */
interface Waiting {
  /** When they were appended. ms */
  readonly at: number;
  readonly facts: Facts;
}

interface Weighable {
  readonly event: { readonly id: string; readonly type: string; readonly data: object };
}
export type Weigh = (entry: Weighable) => number;
const factsOf: Weigh = ({ event }) => factsAtMost(event);

/**
 * Backpressure: keeps one organization's backfill from delaying the others. The log stores events faster than they can
 * be counted, and they are counted in order. So when more facts wait than can be counted in a moment, requests of the
 * organizations with the most of them are held until fewer do, or rejected with 429. The unit is facts because they are
 * the cost: one event may be fifty of them.
 */
@Injectable()
export class IngestBackpressure {
  private waiting: Waiting[] = [];
  /** Admitted and not yet counted, by organization. */
  private readonly waitingOf = new Map<string, number>();
  private all = 0;
  private held = 0;
  private lookedAt = 0;
  private looking: Promise<void> | undefined;
  private counted = { asOf: 0, asOfChangedAt: 0, position: 0, changedAt: 0 };
  /** Where the log ended at some instant (ms), asked for while `as_of` stands still. */
  private end: { readonly at: number; readonly position: bigint } | undefined;
  private isAskingEnd = false;

  constructor(
    private readonly pool: Pool,
    private readonly log: EventLog,
  ) {}

  /** The first entries, up to one append; at least one. */
  portion<Entry extends Weighable>(entries: readonly Entry[], weigh: Weigh = factsOf): readonly Entry[] {
    let facts = 0;
    const end = entries.findIndex((entry, index) => (facts += weigh(entry)) > MAX_AT_ONCE && index > 0);
    return end === -1 ? entries : entries.slice(0, end);
  }

  /**
   * Resolves when these facts may be stored; from then on they count as waiting, until `stored` and counted, or
   * released.
   * @param until when to stop waiting, ms
   * @throws TooManyRequests if they would have to wait longer
   */
  async admit(facts: Facts, until = Date.now() + MAX_HOLD_MS): Promise<void> {
    if (await this.isTooMuch(facts)) {
      if (this.held >= MAX_HELD) throw new TooManyRequests(RETRY_AFTER_SECONDS, MESSAGE);
      this.held += 1;
      try {
        do {
          if (Date.now() >= until) throw new TooManyRequests(RETRY_AFTER_SECONDS, MESSAGE);
          await sleep(LOOK_EVERY_MS);
        } while (await this.isTooMuch(facts));
      } finally {
        this.held -= 1;
      }
    }
    for (const [organization, n] of facts) {
      this.waitingOf.set(organization, (this.waitingOf.get(organization) ?? 0) + n);
      this.all += n;
    }
  }

  /** Marks admitted facts as in the log, to be counted. */
  stored(facts: Facts): void {
    if (this.waiting.length >= MAX_WAITING) this.forget(MAX_WAITING / 2);
    this.waiting.push({ at: Date.now(), facts });
  }

  /** Removes admitted facts from the waiting ones: they were counted, or not stored as far as is known. */
  release(facts: Facts): void {
    for (const [organization, n] of facts) {
      const left = (this.waitingOf.get(organization) ?? 0) - n;
      if (left > 0) this.waitingOf.set(organization, left);
      else this.waitingOf.delete(organization);
      this.all -= n;
    }
  }

  private async isTooMuch(facts: Facts): Promise<boolean> {
    let wanted = 0;
    for (const n of facts.values()) wanted += n;
    const isFull = (): boolean => this.all > 0 && this.all + wanted > WINDOW;
    if (!isFull()) return false;
    await this.look();
    if (!isFull()) return false;
    const fairShare = Math.max(HARMLESS, this.all / this.waitingOf.size);
    let heavy = 0;
    for (const [organization, n] of facts) if ((this.waitingOf.get(organization) ?? 0) >= fairShare) heavy += n;
    return heavy > wanted / 2;
  }

  private async look(): Promise<void> {
    if (Date.now() - this.lookedAt < LOOK_EVERY_MS) return;
    this.looking ??= this.readCounted().finally(() => (this.looking = undefined));
    await Promise.race([this.looking, sleep(MAX_LOOK_MS, undefined, { ref: false })]);
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
    if (now - this.counted.asOfChangedAt > STANDSTILL_MS && (end === undefined || isReached)) void this.askEnd(now);
    return isReached ? end.at : 0;
  }

  private async askEnd(at: number): Promise<void> {
    if (this.isAskingEnd) return;
    this.isAskingEnd = true;
    try {
      this.end = { at, position: await this.log.head() };
    } catch {
      // The append finds out what is the matter with the log.
    } finally {
      this.isAskingEnd = false;
    }
  }

  private forget(length: number): void {
    for (const { facts } of this.waiting.splice(0, length)) this.release(facts);
  }
}

/** An upper bound of these events' facts by organization. */
export const tally = (entries: readonly Weighable[], weigh: Weigh = factsOf): Map<string, number> => {
  const facts = new Map<string, number>();
  for (const entry of entries) {
    const { organization = '' } = entry.event.data as { organization?: string };
    facts.set(organization, (facts.get(organization) ?? 0) + weigh(entry));
  }
  return facts;
};
