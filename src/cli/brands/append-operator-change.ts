import { EventLog, WrongExpectedRevision } from '../../event-log/event-log.js';
import { type EventOf, parseEvent } from '../../events/event.js';
import { newUpstreamEvent } from '../../event-log/new-event.js';
import { isLater, recordOf } from '../../events/record.js';
import { streamOf } from '../../events/streams.js';
import { Conflict } from '../../errors.js';

type Change = EventOf<'BrandRegistered' | 'BrandRemoved' | 'FeatureFlagChanged'>;

const SOURCE = 'urn:threat-protection:operator';
const TYPES: ReadonlySet<string> = new Set<Change['type']>(['BrandRegistered', 'BrandRemoved', 'FeatureFlagChanged']);
const isChange = (type: string): type is Change['type'] => TYPES.has(type);
const PAGE_SIZE = 500;
const MAX_ATTEMPTS = 5;

/** The newest change in a stream, whether upstream reported it or an operator made it, and the revision of the stream. */
interface NewestChange {
  readonly newest: Change | undefined;
  readonly revision: bigint | 'no-stream';
}

const readNewestChange = async (log: EventLog, stream: string): Promise<NewestChange> => {
  let newest: { readonly event: Change; readonly version: number; readonly eventId: string } | undefined;
  let next = 0n;
  for (;;) {
    const page = await log.readStream(stream, next, PAGE_SIZE);
    for (const { type, data, id, revision } of page) {
      next = revision + 1n;
      if (!isChange(type)) continue;
      const { event } = parseEvent(type, data);
      if (!event) continue;
      const found = { event, version: recordOf(event).version, eventId: id };
      if (!newest || isLater(found, newest)) newest = found;
    }
    if (page.length < PAGE_SIZE) return { newest: newest?.event, revision: next === 0n ? 'no-stream' : next - 1n };
  }
};

/**
 * Appends an operator's change of a brand or flag as an event of the type that upstream reports.
 * @param sample any event of the stream to change
 * @param decide receives the newest change and the time of the operator's change in ms; returns undefined if nothing
 *   changes
 * @returns whether an event was appended
 * @throws Conflict if other writers changed the stream during each of five attempts
 */
export const appendOperatorChange = async <C extends Change>(
  log: EventLog,
  sample: C,
  decide: (newest: C | undefined, now: number) => C | undefined,
): Promise<boolean> => {
  const stream = streamOf(sample);
  for (let attempt = 1; ; attempt++) {
    const { newest, revision } = await readNewestChange(log, stream);
    // The change must be later than the newest state, even if the clock of upstream is ahead.
    const now = Math.max(Date.now(), (newest?.data.updatedAt ?? 0) + 1);
    const event = decide(newest as C | undefined, now);
    if (event === undefined) return false;
    try {
      await log.append(stream, revision, [newUpstreamEvent(SOURCE, event, now).event]);
      return true;
    } catch (error) {
      if (!(error instanceof WrongExpectedRevision)) throw error;
      if (attempt === MAX_ATTEMPTS) throw new Conflict(`${stream} is being changed concurrently; try again`);
    }
  }
};
