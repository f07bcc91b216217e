import type { Batch, RecordedEvent } from '../../src/event-log/event-log.js';
import { factsAtMost } from '../../src/events/facts-at-most.js';
import { isTransient } from '../../src/postgres/transient-errors.js';

/** What one transaction may write. Others wait behind it, so it takes about a tenth of a second. */
const MAX_FACTS = 5_000;
/** The same place has failed this often: it is no longer taken for a passing failure. */
const TWICE = 2;
/** A single event is parked after this many failures of its own, all but the first right after a probe of the tables. */
const LAST_CHANCES = 3;
const DISK_FULL = '53100';

type Slice = Pick<Batch, 'events' | 'position'>;

/** A projection could not write what events mean. Thrown by nothing else, such as taking a connection or a commit. */
export class NotApplied extends Error {
  constructor(
    readonly projection: string,
    events: readonly Pick<RecordedEvent, 'id' | 'position'>[],
    override readonly cause: unknown,
  ) {
    const [first] = events;
    const what = events.length === 1 ? `event ${first?.id}` : `${events.length} events from event ${first?.id} on`;
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(`${reason} ("${projection}" at position ${first?.position}, ${what})`);
  }
}

/**
 * Tells an outage from an event that can never be applied, where the error is the same: a statement that takes too
 * long, a lock that is not given, a connection that breaks. What fails twice at the same place is cut in halves, each a
 * transaction of its own, until one event stands alone; that one is to be parked if it fails thrice. An outage fails
 * elsewhere (no connection, no checkpoint, no answer to the probe, no commit), and that is not counted here.
 */
export class Suspicion {
  private stretch: { readonly upTo: bigint; readonly size: number; readonly times: number } | undefined;
  /** By projection: the event that failed alone. */
  private readonly alone = new Map<string, { readonly id: string; readonly times: number; readonly reason: string }>();

  /** Whether the events at this position failed more than once. */
  isAt(position: bigint): boolean {
    return this.stretch !== undefined && this.stretch.times >= TWICE && position <= this.stretch.upTo;
  }

  /** A batch in pieces, each small enough for a transaction. */
  *cut<Whole extends Slice>({ events, ...batch }: Whole): Generator<Slice & { readonly isLast: boolean }> {
    let start = 0;
    let facts = 0;
    for (const [index, event] of events.entries()) {
      const more = factsAtMost(event);
      const isSuspect = this.stretch !== undefined && events[start]!.position <= this.stretch.upTo;
      const isFull = isSuspect
        ? index - start >= this.stretch!.size || event.position > this.stretch!.upTo
        : facts + more > MAX_FACTS;
      if (isFull && index > start) {
        yield { events: events.slice(start, index), position: events[index - 1]!.position, isLast: false };
        start = index;
        facts = 0;
      }
      facts += more;
    }
    yield { events: events.slice(start), position: batch.position, isLast: true };
  }

  /** A transaction with these events was committed. */
  passed({ position }: Slice): void {
    if (this.stretch && position >= this.stretch.upTo) {
      this.stretch = undefined;
      this.alone.clear();
    }
  }

  /**
   * A transaction with these events failed.
   * @returns whether it is worth another try here; not where the disk is full or no event would pass
   */
  failed({ events, position }: Slice, error: NotApplied): boolean {
    const { cause, projection } = error;
    const [first] = events;
    if (!first || !isTransient(cause) || (cause as { code?: unknown }).code === DISK_FULL) return false;
    const times = this.stretch && first.position <= this.stretch.upTo ? this.stretch.times + 1 : 1;
    const size = times < TWICE ? events.length : Math.max(1, events.length >> 1);
    this.stretch = { upTo: position, size, times };
    if (events.length > 1) return true;
    const before = this.alone.get(projection);
    this.alone.set(projection, {
      id: first.id,
      times: before?.id === first.id ? before.times + 1 : 1,
      reason: cause instanceof Error ? cause.message : String(cause),
    });
    return true;
  }

  /**
   * What is held against these events: `undefined` where they have not failed alone. Then the tables are to be probed
   * before anything else, and where `reason` is there, the event is to be parked rather than tried again.
   */
  against(projection: string, events: readonly { readonly id: string }[]): { readonly reason?: string } | undefined {
    const alone = this.alone.get(projection);
    if (events.length !== 1 || alone?.id !== events[0]!.id) return undefined;
    return alone.times < LAST_CHANCES ? {} : { reason: `${alone.reason} (${alone.times} times)` };
  }
}
