import type { EventLog, RecordedEvent } from './event-log.js';

const PAGE = 500;
/** Maximum events of a stream that are searched. */
const MAX_READ = 10_000;

/** Finds events by their ids among the first 10,000 of a stream. @returns the events that were found, by id */
export const findEvents = async (
  log: EventLog,
  stream: string,
  ids: ReadonlySet<string>,
): Promise<ReadonlyMap<string, RecordedEvent>> => {
  const found = new Map<string, RecordedEvent>();
  let next = 0n;
  while (found.size < ids.size && next < MAX_READ) {
    const page = await log.readStream(stream, next, PAGE);
    for (const event of page) if (ids.has(event.id)) found.set(event.id, event);
    if (page.length < PAGE) break;
    next = page.at(-1)!.revision + 1n;
  }
  return found;
};
