import type { PoolClient } from 'pg';
import { assetHash, assetKey } from '../src/assets/asset-key.js';
import type { AssetStatusChanged, AssetStatusChangeDeleted } from '../src/events/asset-statuses.js';
import { isLater, recordOf } from '../src/events/record.js';
import { columnsOf } from '../src/postgres/columns.js';
import { READ_ENTRIES, STORE_ENTRIES, STORE_STATUSES } from './asset-statuses-sql.js';
import type { ProjectedEvent, Projection } from './engine/projection.js';

type StatusEvent = AssetStatusChanged | AssetStatusChangeDeleted;

interface Entry {
  readonly changeId: string;
  readonly assetHash: string;
  readonly asset: string;
  /** Null: permanently deleted. */
  readonly status: string | null;
  readonly version: number;
  readonly eventId: string;
  /** `organization:brand` per review. Null: deleted. */
  readonly reviews: readonly string[] | null;
}

interface Incoming {
  readonly entry: Entry;
  readonly position: bigint;
}

const entryOf = ({ id, event }: ProjectedEvent<StatusEvent>): Entry => ({
  changeId: event.data.changeId,
  assetHash: assetHash(event.data.asset),
  asset: assetKey(event.data.asset),
  status: event.type === 'AssetStatusChanged' ? event.data.status : null,
  version: recordOf(event).version,
  eventId: id,
  reviews:
    event.type === 'AssetStatusChanged'
      ? event.data.brandReviews.map(({ organization, brand }) => `${organization}:${brand}`)
      : null,
});

/**
 * Each asset's status: its newest entry that is not deleted. Also the position of its last event, so that processes
 * that keep the statuses in memory can read only the changes.
 */
export const assetStatuses: Projection<StatusEvent> = {
  name: 'asset-statuses',
  tables: ['asset_status_entries', 'asset_statuses'],
  types: ['AssetStatusChanged', 'AssetStatusChangeDeleted'],
  write: (events, { connection }) =>
    write(
      events.map((event) => ({ entry: entryOf(event), position: event.position })),
      connection,
    ),
};

/** One event at a time, in the log's order, so that positions do not depend on how the log is cut into batches. */
const write = async (incoming: readonly Incoming[], connection: PoolClient): Promise<void> => {
  const entries = await readEntries(connection, [...new Set(incoming.map(({ entry }) => entry.changeId))]);
  const changed = new Map<string, Entry>();
  const concerned = new Map<string, { readonly asset: string; readonly position: bigint }>();
  const concern = ({ assetHash: hash, asset }: Entry, position: bigint): void => {
    const known = concerned.get(hash);
    if (!known || known.position < position) concerned.set(hash, { asset, position });
  };
  for (const { entry, position } of incoming) {
    const known = entries.get(entry.changeId);
    if (known) concern(known, position);
    concern(entry, position);
    if (known && !isLater(entry, known)) continue;
    entries.set(entry.changeId, entry);
    changed.set(entry.changeId, entry);
  }
  if (changed.size > 0) await storeEntries(connection, [...changed.values()]);
  await connection.query({
    ...STORE_STATUSES,
    values: [
      [...concerned.keys()],
      [...concerned.values()].map(({ asset }) => asset),
      [...concerned.values()].map(({ position }) => String(position)),
    ],
  });
};

const readEntries = async (connection: PoolClient, changeIds: readonly string[]): Promise<Map<string, Entry>> => {
  const { rows } = await connection.query<Entry>({ ...READ_ENTRIES, values: [changeIds] });
  return new Map(rows.map((row) => [row.changeId, row]));
};

const storeEntries = async (connection: PoolClient, entries: readonly Entry[]): Promise<void> => {
  // `unnest` flattens an array of arrays.
  const rows = entries.map((entry) => ({ ...entry, reviews: entry.reviews?.join(',') }));
  const values = columnsOf(rows, 'changeId', 'assetHash', 'asset', 'status', 'version', 'eventId', 'reviews');
  await connection.query({ ...STORE_ENTRIES, values });
};
