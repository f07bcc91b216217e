import type { Batch, RecordedEvent } from '../../src/event-log/event-log.js';
import { maxFactsOf } from '../../src/events/facts.js';
import { isTransient } from '../../src/postgres/transient-errors.js';

/** Facts per transaction. Others wait behind it, so it should take about a tenth of a second. */
const MAX_FACTS = 5_000;
/** After this many failures at one position, they no longer count as transient. */
const TWICE = 2;
/**
 * A single event is parked after this many failures of its own, all but the first right after a probe of the tables.
 */
const LAST_CHANCES = 3;
const DISK_FULL = '53100';

type Slice = Pick<Batch, 'events' | 'position'>;

/** A projection could not write its rows. Not thrown for anything else, such as a failed connection or commit. */
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
 * Distinguishes an outage from an event that can never be applied, when both cause the same error: a statement timeout,
 * a lock timeout, a lost connection. Events that fail twice at the same position are halved, each half in its own
 * transaction, until one event is isolated; it is parked after failing three times. An outage fails elsewhere
 * (connection, checkpoint, probe, commit), which does not count here.
 */
export class Suspicion {
  private stretch: { readonly upTo: bigint; readonly size: number; readonly times: number } | undefined;
  /** The isolated event, by projection. */
  private readonly alone = new Map<string, { readonly id: string; readonly times: number; readonly reason: string }>();

  /** Whether the events at this position failed more than once. */
  isAt(position: bigint): boolean {
    return this.stretch !== undefined && this.stretch.times >= TWICE && position <= this.stretch.upTo;
  }

  /** Cuts a batch into pieces, each small enough for a transaction. */
  *cut<Whole extends Slice>({ events, ...batch }: Whole): Generator<Slice & { readonly isLast: boolean }> {
    let start = 0;
    let facts = 0;
    for (const [index, event] of events.entries()) {
      const more = maxFactsOf(event);
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

  /** Called when a transaction with these events was committed. */
  passed({ position }: Slice): void {
    if (this.stretch && position >= this.stretch.upTo) {
      this.stretch = undefined;
      this.alone.clear();
    }
  }

  /**
   * Called when a transaction with these events failed.
   * @returns whether to retry here; not if the disk is full or no event would pass
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
   * How suspicious these events are: `undefined` unless one failed in isolation. Otherwise the tables must be probed
   * first, and if `reason` is set, the event is parked rather than retried.
   */
  against(projection: string, events: readonly { readonly id: string }[]): { readonly reason?: string } | undefined {
    const alone = this.alone.get(projection);
    if (events.length !== 1 || alone?.id !== events[0]!.id) return undefined;
    return alone.times < LAST_CHANCES ? {} : { reason: `${alone.reason} (${alone.times} times)` };
  }
}
