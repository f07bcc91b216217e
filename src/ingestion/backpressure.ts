import { TooManyRequests } from '../errors.js';
import { Injectable, Optional } from '@nestjs/common';
import { type Clock, monotonic } from '../flow/clock.js';
import { finishesWithin } from '../flow/deadline.js';
import { singleFlight } from '../flow/single-flight.js';
import { BEGINNING } from '../event-log/event-log.js';
import { Checkpoints } from '../read-models/checkpoints/checkpoints.js';
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
/** Bodies held in memory at once. */
const MAX_HELD = 64;
/** If the projector has not moved for this long, holding back helps nobody: everything is stored. */
const STOPPED_MS = 2_000;
const RETRY_AFTER_SECONDS = 1;
const MESSAGES = {
  counting: 'Too many events are waiting to be counted; retry after the number of seconds in Retry-After',
  storing: 'Too many events are being stored; retry after the number of seconds in Retry-After',
};
/** Appends tracked as waiting; beyond, the oldest are assumed counted. */
const MAX_WAITING = 20_000;

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
  /** Of the last of them in the log. */
  readonly position: bigint;
  /** By the clock. ms */
  readonly since: number;
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
  private lookedAt = Number.NEGATIVE_INFINITY;
  private readonly readCountedOnce = singleFlight(() => this.readCounted());
  /** The checkpoint of the metrics, once it has been read, and when it was last seen to have moved. */
  private counted: { readonly position: bigint; readonly movedAt: number } | undefined;

  constructor(
    private readonly checkpoints: Checkpoints,
    @Optional() private readonly clock: Clock = monotonic,
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
          const before = this.clock.now();
          await this.clock.sleep(LOOK_EVERY_MS);
          const next = await this.obstacleTo(facts);
          const held = this.clock.now() - before;
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

  /**
   * Marks admitted facts as in the log, to be counted.
   * @param position of the last of their events
   */
  stored(facts: Facts, position: bigint): void {
    if (this.waiting.length >= MAX_WAITING) this.forget(this.waiting.splice(0, MAX_WAITING / 2));
    this.uncounted.add(facts);
    this.waiting.push({ position, since: this.clock.now(), facts });
  }

  /** Forgets admitted facts that were not stored, as far as is known. */
  release(facts: Facts): void {
    this.admitted.remove(facts);
  }

  private async obstacleTo(facts: Facts): Promise<Obstacle | undefined> {
    if (!this.admitted.isFullFor(facts)) return undefined;
    await this.look();
    const isHeldBackBy = (counts: FactCounts): boolean => counts.isFullFor(facts) && counts.areOfHeavy(facts);
    if (!isHeldBackBy(this.admitted)) return undefined;
    return isHeldBackBy(this.uncounted) ? 'counting' : 'storing';
  }

  private async look(): Promise<void> {
    if (this.clock.now() - this.lookedAt >= LOOK_EVERY_MS) await finishesWithin(this.readCountedOnce(), MAX_LOOK_MS);
  }

  private async readCounted(): Promise<void> {
    // Callers that need the database report its failure; here it only means that nothing is known.
    const row = await this.checkpoints.current().then(
      (rows) => rows.get('metrics'),
      () => undefined,
    );
    const now = this.clock.now();
    this.lookedAt = now;
    const before = this.counted;
    const position = row === undefined ? (before?.position ?? BEGINNING) : BigInt(row.position);
    const movedAt =
      before === undefined ? Number.NEGATIVE_INFINITY : before.position === position ? before.movedAt : now;
    this.counted = { position, movedAt };
    const stoppedSince = Math.max(movedAt, this.waiting[0]?.since ?? now);
    const isStopped = now - stoppedSince > STOPPED_MS;
    const [counted, waiting] = partition(this.waiting, (one) => isStopped || one.position <= position);
    this.waiting = waiting;
    this.forget(counted);
  }

  private forget(counted: readonly Waiting[]): void {
    for (const { facts } of counted) {
      this.admitted.remove(facts);
      this.uncounted.remove(facts);
    }
  }
}

const partition = <Item>(items: readonly Item[], isFirst: (item: Item) => boolean): [first: Item[], second: Item[]] => {
  const parts: [Item[], Item[]] = [[], []];
  for (const item of items) parts[isFirst(item) ? 0 : 1].push(item);
  return parts;
};
