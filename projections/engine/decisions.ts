import type { Pool } from 'pg';
import type { EventLog } from '../../src/event-log/event-log.js';
import { followStream, START_OF_STREAM, type StreamCursor } from '../../src/event-log/read-streams.js';
import { type EventOf, parseEvent } from '../../src/events/event.js';
import { OPERATIONS_STREAM } from '../../src/events/streams.js';
import { PREVIOUS_PROJECTIONS } from '../../src/read-models/previous-version.js';
import { createReadModels } from '../../src/read-models/tables.js';

/** Decisions of version 2.2 are in the log under the names of its projections. */
const nameNow = (projection: string): string => (PREVIOUS_PROJECTIONS.includes(projection) ? 'register' : projection);

/** What is decided about the parked events of a projection. */
interface Decided {
  /** These are never applied. */
  readonly dropped: Set<string>;
  /**
   * These are not applied at their own positions, which readers may have passed, but by the first retry at this position
   * or after it: the last retry, or, while the event is parked, the next one after the checkpoint, because the retries
   * before it failed.
   */
  readonly notBefore: Map<string, bigint>;
  /** The position of the last retry of each event. */
  readonly lastRetry: Map<string, bigint>;
  /** The positions of the events that are parked now. */
  readonly parked: Map<string, bigint>;
}

/** What is decided about parked events, by projection. Whoever reads the log again follows the decisions. */
export class Decisions {
  private readonly byProjection = new Map<string, Decided>();

  of(projection: string): Decided {
    const known = this.byProjection.get(projection) ?? {
      dropped: new Set(),
      notBefore: new Map(),
      lastRetry: new Map(),
      parked: new Map(),
    };
    this.byProjection.set(projection, known);
    return known;
  }

  /**
   * Whether tables are as if they had been filled with these decisions. They are filled with the log part by part, and the
   * decisions are read again once the end of each part is known.
   * @param before the decisions when the filling began
   * @param begunAt the position of the live tables before that
   */
  agreesWith(before: Decisions, projection: string, begunAt: bigint): boolean {
    const [{ dropped, notBefore, lastRetry, parked }, known] = [this.of(projection), before.of(projection)];
    const isAsBefore = (id: string): boolean => {
      const at = known.notBefore.get(id);
      // An event that was stored and parked since was already parked when its part was begun, so the part parked it too.
      if (at === undefined) return (parked.get(id) ?? begunAt) > begunAt && !lastRetry.has(id);
      // The tables may have the event by a retry that has failed meanwhile.
      return !(parked.has(id) && (lastRetry.get(id) ?? at - 1n) >= at);
    };
    return dropped.size === known.dropped.size && [...notBefore.keys()].every(isAsBefore);
  }
}

/**
 * Calls `onDecision` for each decision about a parked event, in order, with its position in the log.
 * @returns the cursor after the last event about the log
 */
export const followDecisions = (
  log: EventLog,
  onDecision: (event: EventOf<'ParkedEventDropped'> | EventOf<'ParkedEventRetried'>, position: bigint) => void,
): Promise<StreamCursor> =>
  followStream(log, OPERATIONS_STREAM, 'Events about the log', START_OF_STREAM, ({ type, data, ...stored }) => {
    if (type !== 'ParkedEventDropped' && type !== 'ParkedEventRetried') return;
    const { event } = parseEvent(type, data);
    if (event !== undefined) onDecision(event, (stored.copyOf ?? stored).position);
  });

/** Reads which events are parked now, and which events operators have dropped or retried. */
export const readDecisions = async (pool: Pool, log: EventLog): Promise<Decisions> => {
  const decisions = new Decisions();
  const parked = createReadModels(pool)
    .selectFrom('parked_events as p')
    .leftJoin('checkpoints as c', 'c.projection', 'p.projection')
    .select(['p.projection', 'p.event_id', 'p.position', 'c.position as reached']);
  for (const { projection, event_id: eventId, position, reached } of await parked.execute()) {
    const decided = decisions.of(projection);
    decided.parked.set(eventId, BigInt(position));
    decided.notBefore.set(eventId, BigInt(reached ?? -1) + 1n);
  }
  await followDecisions(log, ({ type, data: { projection, eventId } }, position) => {
    const { dropped, notBefore, lastRetry } = decisions.of(nameNow(projection));
    if (type === 'ParkedEventDropped') return void dropped.add(eventId);
    lastRetry.set(eventId, position);
    if (position > (notBefore.get(eventId) ?? -1n)) notBefore.set(eventId, position);
  });
  return decisions;
};
