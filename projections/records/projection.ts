import type { PoolClient } from 'pg';
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
import { isFilteredBy, ITEM_VERSION, kindOf, LISTED_KIND } from '../../src/events/listed-items.js';
import { DISPUTE_TYPES, type DisputeEvent, foldDisputes } from './disputes.js';
import { redactionOf, redactListed, redactRow, type Redaction } from './redactions.js';
import { type DateAdded, datesOf } from './recording-clock.js';
import { keyOf, type OwnedEvent, type Row, rowOf, withFirst } from './row.js';
import { DELETE_BRAND_RECORDS, INSERT_BRAND_RECORDS, STORE_RECORDS } from './listed-records.js';
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
      newest.set(key, withFirst(newest.get(key)!, { ...earlier, objectId: earlier.objectId ?? row.objectId }));
  });
  return async ({ connection }) => {
    const dateOf = await datesOf(recorded, connection);
    if (events.length === 0) return;
    await redactListed(redactions, connection, dateOf);
    for (const row of await foldVerdicts(states, connection, dateOf)) newest.set(keyOf(row), row);
    for (const row of await foldDisputes(disputes, connection, dateOf)) newest.set(keyOf(row), row);
    await storeRows([...newest.values()], connection, dateOf);
  };
};

const storeRows = async (rows: readonly Row[], connection: PoolClient, dateOf: DateAdded): Promise<void> => {
  const keys = await STORE_RECORDS.runEach(
    connection,
    rows.map((row) => ({
      organization: row.organization,
      kind: row.kind,
      id: row.id,
      version: row.version,
      eventId: row.eventId,
      position: row.position,
      movedTo: row.movedBy === undefined ? undefined : row.position,
      movedBy: row.movedBy,
      recordedAt: row.recordedAt,
      createdAt: row.view?.createdAt,
      status: row.view?.status,
      type: row.view?.asset?.type,
      assetHash: row.assetHash,
      item: row.view?.item,
      addedAt: row.addedAt ?? dateOf(row),
      // A dispute is put together from several events, so its row does not know the first of them.
      firstRecordedAt: row.kind === LISTED_KIND.dispute ? undefined : (row.first?.addedAt ?? dateOf(row.first ?? row)),
      objectId: row.objectId,
    })),
  );
  // A row that has kept its newer state has another event.
  const stored = new Set(keys.map((key) => `${keyOf(key)}\n${key.event_id}`));
  await storeBrandRecords(
    rows.filter((row) => isFilteredBy(kindOf(row.kind), 'brand') && stored.has(`${keyOf(row)}\n${row.eventId}`)),
    connection,
  );
};

/**
 * Replaces the rows of changed records in `brand_records`, which has one row per record and brand.
 */
const storeBrandRecords = async (rows: readonly Row[], connection: PoolClient): Promise<void> => {
  await DELETE_BRAND_RECORDS.runEach(connection, rows);
  const brandRecords = rows.flatMap(({ view, ...row }) =>
    (view?.brands ?? []).map((brand) => ({
      ...row,
      brand,
      at: view!.countedAt,
      status: view!.status,
      type: view!.asset?.type,
    })),
  );
  await INSERT_BRAND_RECORDS.runEach(connection, brandRecords);
};

/** The records that lists and the feed return. */
export const records = {
  name: 'records',
  versions: [KEY_VERSION, ITEM_VERSION],
  tables: ['listed_records', 'brand_records', 'reviewed_entries', 'disputes', 'recording_clock'],
  indexedForReaders: ['listed_records', 'brand_records'],
  retiredIndexes: ['listed_records', 'brand_records'].flatMap((table) =>
    ['newest', 'by_status', 'by_type', 'by_status_and_type'].map((name) => `${table}_${name}`),
  ),
  clock: 'recording_clock',
  types: [...COUNTED_TYPES, ...DISPUTE_TYPES, 'ContentRedacted'],
  prepare,
} satisfies Projection<RecordEvent>;
