import { COUNTED_TYPES } from '../../src/events/record.js';
import { KEY_VERSION } from '../../src/assets/asset-key.js';
import type { PoolClient } from 'pg';
import { chunksYielding } from '../../src/flow/yielder.js';
import { LISTED_KIND } from '../../src/read-models/listed-kind.js';
import { columnsOf } from '../../src/postgres/columns.js';
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
  if (rows.length === 0) return;
  const keys = await STORE_RECORDS.run(connection, {
    ...columnsOf(rows, 'organization', 'kind', 'id', 'version', 'eventId', 'position', 'storedAt', 'hash'),
    createdAt: rows.map(({ shown }) => shown?.createdAt),
    updatedAt: rows.map(({ shown }) => shown?.updatedAt),
    status: rows.map(({ shown }) => shown?.status),
    type: rows.map(({ shown }) => shown?.asset?.type),
    content: rows.map(({ shown }) => shown?.asset?.content),
    // `unnest` flattens an array of arrays.
    brands: rows.map(({ shown }) => shown?.brands.join(',')),
  });
  const stored = new Set(keys.map(keyOf));
  await storeOfBrands(
    rows.filter((row) => row.kind !== LISTED_KIND.threat && stored.has(keyOf(row))),
    connection,
  );
};

/** Of records that have changed: which brands they are listed under now. Threats carry no brand. */
const storeOfBrands = async (rows: readonly Row[], connection: PoolClient): Promise<void> => {
  if (rows.length === 0) return;
  await DELETE_OF_BRANDS.run(connection, columnsOf(rows, 'organization', 'kind', 'id'));
  const ofBrands = rows.flatMap((row) => (row.shown?.brands ?? []).map((brand) => ({ ...row, brand })));
  if (ofBrands.length === 0) return;
  await INSERT_OF_BRANDS.run(connection, {
    ...columnsOf(ofBrands, 'organization', 'kind', 'id', 'brand', 'hash'),
    at: ofBrands.map(({ shown }) => shown!.brandAt),
    status: ofBrands.map(({ shown }) => shown!.status),
    type: ofBrands.map(({ shown }) => shown!.asset?.type),
  });
};

/** Each record as lists and the feed show it. */
export const records = {
  name: 'records',
  version: KEY_VERSION,
  tables: ['listed_records', 'brand_records', 'reviewed_entries'],
  types: COUNTED_TYPES,
  prepare,
} satisfies Projection<RecordEvent>;
