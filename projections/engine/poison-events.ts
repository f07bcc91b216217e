import type { Batch, RecordedEvent } from '../../src/event-log/event-log.js';
import { maxFactsOf } from '../../src/events/facts.js';
import { isRefusal, isTransient } from '../../src/postgres/transient-errors.js';

/** Maximum number of facts per transaction, so that a transaction takes about a tenth of a second. */
const MAX_FACTS = 5_000;
/** After this many failures at one position, the likely cause is an event instead of an outage. */
const MIN_FAILURES = 2;
/**
 * An isolated event is parked after this many failures. Every attempt except the first probes the tables before it
 * applies the event.
 */
const MAX_ISOLATED_FAILURES = 3;
const DISK_FULL = '53100';

type Slice = Pick<Batch, 'events' | 'position'>;

/** A projection failed to write its rows. A failure of the checkpoint or of the commit is not an `ApplyError`. */
export class ApplyError extends Error {
  /** The id of the first event to apply. At the position of a retry, this is the id of the retried event. */
  readonly eventId: string | undefined;

  constructor(
    readonly projection: string,
    events: readonly Pick<RecordedEvent, 'id' | 'position'>[],
    override readonly cause: unknown,
  ) {
    const [first] = events;
    const eventsText =
      events.length === 1 ? `event ${first?.id}` : `${events.length} events from event ${first?.id} on`;
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(`${reason} ("${projection}" at position ${first?.position}, ${eventsText})`);
    this.eventId = first?.id;
  }
}

/**
 * Distinguishes an outage from a poison event. Both can cause a statement timeout, a lock timeout or a lost connection.
 * Events that fail twice at the same position are bisected, with a transaction for each half, until one event is
 * isolated. The isolated event is parked after three failures. During an outage, connecting, moving the checkpoint,
 * probing the tables or committing also fails; these failures are not counted.
 */
export class PoisonEventIsolation {
  private suspects: { readonly upTo: bigint; readonly size: number; readonly failures: number } | undefined;
  /** The isolated event of each projection. */
  private readonly isolated = new Map<
    string,
    { readonly id: string; readonly failures: number; readonly reason: string }
  >();

  /** Whether events at this position have failed often enough to be bisected. */
  isActiveAt(position: bigint): boolean {
    return this.suspects !== undefined && this.suspects.failures >= MIN_FAILURES && position <= this.suspects.upTo;
  }

  /** Splits a batch into pieces. Each piece is applied in a transaction of its own. */
  *split<Whole extends Slice>({ events, ...batch }: Whole): Generator<Slice & { readonly isLast: boolean }> {
    let start = 0;
    let facts = 0;
    for (const [index, event] of events.entries()) {
      const added = maxFactsOf(event);
      const isSuspect = this.suspects !== undefined && events[start]!.position <= this.suspects.upTo;
      const isFull = isSuspect
        ? index - start >= this.suspects!.size || event.position > this.suspects!.upTo
        : facts + added > MAX_FACTS;
      if (isFull && index > start) {
        yield { events: events.slice(start, index), position: events[index - 1]!.position, isLast: false };
        start = index;
        facts = 0;
      }
      facts += added;
    }
    yield { events: events.slice(start), position: batch.position, isLast: true };
  }

  /** Called when a transaction with these events was committed. */
  succeeded({ position }: Slice): void {
    if (this.suspects && position >= this.suspects.upTo) {
      this.suspects = undefined;
      this.isolated.clear();
    }
  }

  /**
   * Called when a transaction with these events failed.
   * @returns whether a retry can help; false if the disk is full, the database refuses the process, or every event would
   *   fail
   */
  failed({ events, position }: Slice, error: ApplyError): boolean {
    const { cause, projection, eventId } = error;
    const [first] = events;
    if (!first || !isTransient(cause) || isRefusal(cause) || (cause as { code?: unknown }).code === DISK_FULL)
      return false;
    const failures = this.suspects && first.position <= this.suspects.upTo ? this.suspects.failures + 1 : 1;
    const size = failures < MIN_FAILURES ? events.length : Math.max(1, events.length >> 1);
    this.suspects = { upTo: position, size, failures };
    if (events.length > 1 || eventId === undefined) return true;
    const previous = this.isolated.get(projection);
    this.isolated.set(projection, {
      id: eventId,
      failures: previous?.id === eventId ? previous.failures + 1 : 1,
      reason: cause instanceof Error ? cause.message : String(cause),
    });
    return true;
  }

  /**
   * Returns an object if `events` contains only the isolated event. The caller must then probe the tables before it
   * applies the event. If `reason` is set, the caller must park the event instead of applying it.
   */
  suspectIn(projection: string, events: readonly { readonly id: string }[]): { readonly reason?: string } | undefined {
    const isolated = this.isolated.get(projection);
    if (events.length !== 1 || isolated?.id !== events[0]!.id) return undefined;
    return isolated.failures < MAX_ISOLATED_FAILURES
      ? {}
      : { reason: `${isolated.reason} (${isolated.failures} times)` };
  }
}
