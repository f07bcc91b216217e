import type { EventLog, RecordedEvent } from './event-log.js';

const PAGE_SIZE = 500;

/** The position in a stream up to which a process that follows the stream has read. */
export interface StreamCursor {
  /** The next revision to read. */
  readonly next: bigint;
  /** The id of the event before `next`; undefined at the start. */
  readonly lastEventId: string | undefined;
}

export const START_OF_STREAM: StreamCursor = { next: 0n, lastEventId: undefined };

/** Events that were read are no longer in the log, because a failover of the log's database lost events. */
export class EventsLost extends Error {}

/**
 * Calls `onEvent` for each event of a stream after `from`, in order.
 * @param what the plural noun for the events in the error message, such as `Key events`
 * @returns the cursor to continue from
 * @throws EventsLost if the event before `from` is no longer in the log
 */
export const followStream = async (
  log: Pick<EventLog, 'readStream'>,
  stream: string,
  what: string,
  from: StreamCursor,
  onEvent: (event: RecordedEvent) => void,
): Promise<StreamCursor> => {
  let { next, lastEventId } = from;
  for (;;) {
    // The page begins with the last known event, so that lost events are detected.
    const overlap = lastEventId === undefined ? 0 : 1;
    const page = await log.readStream(stream, next - BigInt(overlap), PAGE_SIZE);
    if (overlap > 0 && page[0]?.id !== lastEventId)
      throw new EventsLost(`${what} that were read are no longer in the log`);
    for (const event of page.slice(overlap)) {
      next = event.revision + 1n;
      lastEventId = event.id;
      onEvent(event);
    }
    if (page.length < PAGE_SIZE) return { next, lastEventId };
  }
};
