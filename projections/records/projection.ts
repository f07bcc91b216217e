import { COUNTED_TYPES } from '../../src/events/record.js';
import { KEY_VERSION } from '../../src/assets/asset-key.js';
import type { PoolClient } from 'pg';
import { chunksYielding } from '../../src/flow/yielder.js';
import { ITEM_VERSION, LISTED_KIND } from '../../src/events/kinds.js';
import { lastWriterWins, type ProjectedEvent, type Projection, type Write } from '../engine/projection.js';
import { keyOf, type OwnedEvent, type Row, rowOf } from './row.js';
import { DELETE_OF_BRANDS, INSERT_OF_BRANDS, STORE_RECORDS } from './statements.js';
import { type EntryEvent, type EntryState, entryStateOf, foldVerdicts } from './verdicts.js';

type RecordEvent = OwnedEvent | EntryEvent;

const isOfEntry = (projected: ProjectedEvent<RecordEvent>): projected is ProjectedEvent<EntryEvent> =>
  projected.event.type === 'AssetStatusChanged' || projected.event.type === 'AssetStatusChangeDeleted';

/** A batch's newest state of each record; of entries every state, because each may concern other organizations. */
const prepare = async (events: readonly ProjectedEvent<RecordEvent>[]): Promise<Write> => {
  const newest = new Map<string, Row>();
  const states: EntryState[] = [];
  for await (const few of chunksYielding(events))
    for (const event of few) {
      if (isOfEntry(event)) {
        states.push(entryStateOf(event));
        continue;
      }
      const row = rowOf(event as ProjectedEvent<OwnedEvent>);
      lastWriterWins(newest, keyOf(row), row);
    }
  return async ({ connection }) => {
    for (const row of await foldVerdicts(states, connection)) newest.set(keyOf(row), row);
    await storeRows([...newest.values()], connection);
  };
};

const storeRows = async (rows: readonly Row[], connection: PoolClient): Promise<void> => {
  const keys = await STORE_RECORDS.runEach(
    connection,
    rows.map(({ shown, ...row }) => ({
      ...row,
      createdAt: shown?.createdAt,
      status: shown?.status,
      type: shown?.asset?.type,
      item: shown?.item,
    })),
  );
  const stored = new Set(keys.map(keyOf));
  await storeOfBrands(
    rows.filter((row) => row.kind !== LISTED_KIND.threat && stored.has(keyOf(row))),
    connection,
  );
};

/** Of records that have changed: which brands they are listed under now. Threats carry no brand. */
const storeOfBrands = async (rows: readonly Row[], connection: PoolClient): Promise<void> => {
  await DELETE_OF_BRANDS.runEach(connection, rows);
  const ofBrands = rows.flatMap(({ shown, ...row }) =>
    (shown?.brands ?? []).map((brand) => ({
      ...row,
      brand,
      at: shown!.brandAt,
      status: shown!.status,
      type: shown!.asset?.type,
    })),
  );
  await INSERT_OF_BRANDS.runEach(connection, ofBrands);
};

/** Each record as lists and the feed show it. */
export const records = {
  name: 'records',
  version: KEY_VERSION + ITEM_VERSION,
  tables: ['listed_records', 'brand_records', 'reviewed_entries'],
  types: COUNTED_TYPES,
  prepare,
} satisfies Projection<RecordEvent>;
