import { Conflict } from '../../errors.js';
import { eventIdOf } from '../../events/streams.js';
import { reviewsOf } from '../../events/types/verdicts.js';
import type { NewEvent, RecordedEvent } from '../event-log.js';
import { type FileEvent, isVerdict } from './transfer-file.js';

/** The `source` of states that an import adds. */
const IMPORT_SOURCE = 'urn:threat-protection:import';

/** So many ids include a greater one, unless a program chose the id of the other state. */
const MAX_IDS = 65_536;

/** The data of a verdict before validation. */
interface Unvalidated {
  readonly changeId?: unknown;
  readonly createdAt?: unknown;
}

const versionOf = ({ type, data }: NewEvent): string => {
  const { changeId, createdAt } = data as Unvalidated;
  return JSON.stringify([type, changeId, createdAt]);
};

/** The greatest event id of each version of a verdict in the file, which is the state in force. About 200 bytes each. */
export type InForce = Map<string, string>;

const verdictOf = (event: FileEvent): string => event.stream + versionOf(event);

export const noteInForce = (page: readonly FileEvent[], inForce: InForce): void => {
  for (const event of page) {
    if (!isVerdict(event)) continue;
    const verdict = verdictOf(event);
    const known = inForce.get(verdict);
    if (known === undefined || known < event.id) inForce.set(verdict, event.id);
  }
};

/**
 * Returns the metadata and the id of a state that is in force instead of another state of the same instant: the state
 * with the greatest id is in force. Takes the next of many ids, so that many later states remain possible.
 */
const later = (
  id: string,
  { type, metadata, stream }: FileEvent,
  changeId: unknown,
): Pick<NewEvent, 'id' | 'metadata'> => {
  for (let ids = 256; ids <= MAX_IDS; ids *= 2) {
    const candidates = Array.from({ length: ids }, (_, number) => {
      const sourceId = `${String(changeId)}:${number}`;
      return {
        id: eventIdOf(IMPORT_SOURCE, sourceId, type, stream),
        metadata: { ...metadata, source: IMPORT_SOURCE, id: sourceId },
      };
    }).filter((candidate) => candidate.id > id);
    if (candidates.length > 0) return candidates.reduce((a, b) => (a.id < b.id ? a : b));
  }
  throw new Conflict(`No event id is greater than ${id} in stream ${stream}`);
};

/**
 * Returns the events to append to the status history of an asset, so that it contains these verdicts. If the log has
 * a verdict already, but with the brands of other organizations only, because these were imported before, a new state of
 * the verdict names the brands of all of them. This concerns only states that are in force in the file: what a later
 * state of the file has replaced must not return.
 * @param stored all events of the stream
 * @param imported the events of the file for this stream, in order
 */
export const mergeVerdicts = <Event extends FileEvent>(
  stored: readonly RecordedEvent[],
  imported: readonly Event[],
  inForce: InForce,
): Event[] => {
  const byId = new Map(stored.map((event) => [event.id, event as NewEvent]));
  const added: Event[] = [];
  for (const event of imported) {
    let addition = event;
    if (byId.has(event.id)) {
      if (inForce.get(verdictOf(event)) !== event.id) continue;
      const version = versionOf(event);
      const states = [...byId.values()].filter((state) => versionOf(state) === version);
      const current = states.reduce((a, b) => (a.id > b.id ? a : b));
      const reviews = reviewsOf(current.data);
      const known = new Set(reviews.map((review) => JSON.stringify(review)));
      const missing = reviewsOf(event.data).filter((review) => !known.has(JSON.stringify(review)));
      if (missing.length === 0) continue;
      const data = { ...current.data, brandReviews: [...reviews, ...missing] };
      // The metadata of the file has the content of an asset that was redacted here, in normal form.
      const state = { ...event, metadata: current.metadata };
      addition = { ...event, ...later(current.id, state, (event.data as Unvalidated).changeId), data };
    }
    byId.set(addition.id, addition);
    added.push(addition);
  }
  return added;
};
