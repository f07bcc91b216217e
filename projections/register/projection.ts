import type { EventOf } from '../../src/events/event.js';
import { COUNTED_TYPES } from '../../src/events/record.js';
import {
  type ProjectedEvent,
  lastWriterWins,
  type Projection,
  type Recorded,
  type Write,
} from '../engine/projection.js';
import { KEY_VERSION } from '../../src/assets/asset.js';
import { forEachYielding } from '../../src/flow/time.js';
import { ITEM_VERSION, LISTED_KIND } from '../../src/events/listed-items.js';
import { DISPUTE_TYPES, type DisputeEvent, foldDisputes } from './disputes.js';
import { redactionOf, redactStored, redactRow, type Redaction } from './redactions.js';
import { datesOf } from './register-clock.js';
import { keyOf, type OwnedEvent, type Row, rowOf } from './row.js';
import { storeRows } from './store-rows.js';
import { type EntryEvent, type EntryState, entryStateOf, foldVerdicts } from './verdicts.js';

type RedactedEvent = EventOf<'ContentRedacted'>;
type RecordEvent = OwnedEvent | EntryEvent | DisputeEvent | RedactedEvent;

const isEntryEvent = (projected: ProjectedEvent<RecordEvent>): projected is ProjectedEvent<EntryEvent> =>
  projected.event.type === 'AssetStatusChanged' || projected.event.type === 'AssetStatusChangeDeleted';

const isDisputeEvent = (projected: ProjectedEvent<RecordEvent>): projected is ProjectedEvent<DisputeEvent> =>
  projected.event.type === 'DisputeFiled' || projected.event.type === 'DisputeResolved';

const isRedactedEvent = (projected: ProjectedEvent<RecordEvent>): projected is ProjectedEvent<RedactedEvent> =>
  projected.event.type === 'ContentRedacted';

/**
 * Keeps only the newest state of each record, but all states of each entry, because each state of an entry may concern
 * different organizations, and all events of disputes, because a dispute is put together from several events.
 */
const prepare = async (
  events: readonly ProjectedEvent<RecordEvent>[],
  recorded: readonly Recorded[],
): Promise<Write> => {
  const newest = new Map<string, Row>();
  const states: (EntryState | Redaction)[] = [];
  const disputes: (ProjectedEvent<DisputeEvent> | Redaction)[] = [];
  const redactions: Redaction[] = [];
  await forEachYielding(events, (event) => {
    if (isEntryEvent(event)) {
      states.push(entryStateOf(event));
      return;
    }
    if (isDisputeEvent(event)) {
      disputes.push(event);
      return;
    }
    if (isRedactedEvent(event)) {
      const redaction = redactionOf(event);
      if (redaction === undefined) return;
      if (redaction.kind === LISTED_KIND.verdict) states.push(redaction);
      else if (redaction.kind === LISTED_KIND.dispute) disputes.push(redaction);
      else {
        const key = keyOf(redaction);
        const row = newest.get(key);
        if (row) newest.set(key, redactRow(row, redaction));
        redactions.push(redaction);
      }
      return;
    }
    const row = rowOf(event as ProjectedEvent<OwnedEvent>);
    const key = keyOf(row);
    const earlier = newest.get(key);
    lastWriterWins(newest, key, row);
    // Whichever state is the newest, the record was first stored with the earlier event, and counted if any state counts.
    if (earlier)
      newest.set(key, {
        ...newest.get(key)!,
        first: earlier.first ?? earlier,
        hasCounted: earlier.hasCounted || row.hasCounted,
      });
  });
  return async ({ connection }) => {
    const dateOf = await datesOf(recorded, connection);
    if (events.length === 0) return;
    await redactStored(redactions, connection, dateOf);
    for (const row of await foldVerdicts(states, connection, dateOf)) newest.set(keyOf(row), row);
    for (const row of await foldDisputes(disputes, connection, dateOf)) newest.set(keyOf(row), row);
    await storeRows([...newest.values()], connection, dateOf);
  };
};

/** The newest state of each record of each organization, from which lists, the feed and TAXII are computed. */
export const register = {
  name: 'register',
  versions: [KEY_VERSION, ITEM_VERSION],
  tables: ['register', 'register_brands', 'entries', 'disputes', 'register_clock'],
  indexedForReaders: ['register', 'register_brands'],
  clock: 'register_clock',
  types: [...COUNTED_TYPES, ...DISPUTE_TYPES, 'ContentRedacted'],
  prepare,
} satisfies Projection<RecordEvent>;
