import type { PoolClient } from 'pg';
import { REDACTED } from '../src/events/redacted.js';
import { nullable, statement, nameArray, type RowOf } from '../src/postgres/statement.js';
import { storeNewest } from './store-newest.js';
import { hashOfKey, KEY_VERSION } from '../src/assets/asset.js';
import type { EventOf } from '../src/events/event.js';
import { ENTRY_TYPES, recordOf } from '../src/events/record.js';
import { keyOf } from '../src/events/stored-key.js';
import { forEachYielding } from '../src/flow/time.js';
import { lastWriterWins, type ProjectedEvent, type Projection } from './engine/projection.js';

export const READ_ENTRIES = statement(
  'asset-statuses-read-entries',
  { changeIds: 'text[]' },
  {
    changeId: 'text',
    assetHash: 'text',
    asset: 'text',
    /** Null if the row was written before the column `content` existed; a rebuild fills the column. */
    content: nullable('text'),
    status: nullable('text'),
    version: 'bigint',
    eventId: 'uuid',
    reviews: nullable('text[]'),
    position: nullable('bigint'),
    otherAssets: nullable('text[]'),
  },
  `
    select change_id as "changeId", asset_hash as "assetHash", asset, content, status, version, event_id as "eventId",
      reviews, position, other_assets as "otherAssets"
    from asset_status_entries where change_id = any($1::text[])`,
);

export const STORE_ENTRIES = storeNewest(
  'asset-statuses-store-entries',
  'asset_status_entries',
  {
    changeId: 'text',
    assetHash: 'text',
    asset: 'text',
    content: 'text',
    status: 'text',
    version: 'bigint',
    eventId: 'uuid',
    reviews: 'text[]',
    position: 'bigint',
    otherAssets: 'text[]',
  },
  // Every event changes these columns, also an older state.
  { key: ['changeId'], merged: { position: 'excluded.position', otherAssets: 'excluded.other_assets' } },
);

/** Removes the assets of entries. The entries keep their statuses, which apply to nothing. */
export const REDACT_ENTRIES = statement(
  'asset-statuses-redact-entries',
  { changeIds: 'text[]' },
  {},
  `
    update asset_status_entries set asset_hash = '', asset = '', content = '${REDACTED}'
    where change_id = any($1::text[])`,
);

/**
 * Computes the statuses of assets. The key of an asset is '' if the last event about the asset redacted its content and
 * no entry has the content; such a row tells processes that a key which they cannot know any more has no status. Without
 * an asset in the arguments, the key stays.
 */
export const STORE_STATUSES = statement(
  'store-asset-statuses',
  { assetHash: 'text[]', asset: 'text[]', position: 'bigint[]' },
  {},
  `
    insert into asset_statuses as s (asset_hash, asset, content, status, created_at, position)
    select t.asset_hash, coalesce(newest.asset, t.asset, known.asset, ''), newest.content, coalesce(newest.status, 'UNKNOWN'), newest.version / 2, t.position
    from unnest($1::text[], $2::text[], $3::bigint[]) t (asset_hash, asset, position)
    left join asset_statuses known on known.asset_hash = t.asset_hash
    left join lateral (
      select e.asset, e.content, e.status, e.version from asset_status_entries e
      where e.asset_hash = t.asset_hash and e.status is not null
      order by e.version desc, e.event_id desc limit 1
    ) newest on true
    on conflict (asset_hash) do update
      set asset = excluded.asset, content = excluded.content, status = excluded.status, created_at = excluded.created_at,
          position = greatest(s.position, excluded.position)`,
);

/** Must be incremented if the same events result in different rows. */
const ROW_VERSION = 1;

type EntryEvent = EventOf<(typeof ENTRY_TYPES)[number]>;
type StatusEvent = EntryEvent | EventOf<'ContentRedacted'>;

/**
 * An entry of the status history. Each review has the form `organization:brand`. A deleted entry has neither a status
 * nor reviews.
 */
type Entry = RowOf<typeof READ_ENTRIES>;

/** A new state of an entry, or the redaction of its content. */
interface Incoming {
  readonly changeId: string;
  readonly entry: Entry | undefined;
  /** The asset whose content is redacted. Unused for a new state. */
  readonly redactedHash: string;
  readonly isCopy: boolean;
  readonly position: bigint;
}

/**
 * Maximum number of other assets of an entry that are known. If its events name more, a retried event may leave another
 * position than a rebuild does.
 */
const MAX_OTHER_ASSETS = 64;

/** The asset of a redacted entry: the entry has a status, which applies to nothing. */
const NO_ASSET = { assetHash: '', asset: '', content: REDACTED };

const incomingOf = (projected: ProjectedEvent<StatusEvent>): Incoming | undefined => {
  const { event, position, isCopy = false } = projected;
  if (event.type !== 'ContentRedacted') {
    const entry = entryOf(projected as ProjectedEvent<EntryEvent>, keyOf({ event, metadata: projected.metadata }));
    return { changeId: entry.changeId, entry, redactedHash: '', isCopy, position };
  }
  const { kind, id: changeId, assetHash: redactedHash } = event.data;
  return kind === 'assetStatus' ? { changeId, entry: undefined, redactedHash, isCopy, position } : undefined;
};

const entryOf = ({ id, event }: ProjectedEvent<EntryEvent>, asset: string): Entry => ({
  changeId: event.data.changeId,
  assetHash: asset === '' ? '' : hashOfKey(asset),
  asset,
  content: event.data.asset.content,
  status: event.type === 'AssetStatusChanged' ? event.data.status : null,
  version: recordOf(event).version,
  eventId: id,
  reviews:
    event.type === 'AssetStatusChanged'
      ? event.data.brandReviews.map(({ organization, brand }) => `${organization}:${brand}`)
      : null,
  position: null,
  otherAssets: null,
});

/**
 * For each asset: the status of its newest entry that is not deleted, and the position of the last event of all entries
 * that name or named the asset. Processes that keep statuses in memory read only assets whose position is later than the last position that
 * they have read.
 */
export const assetStatuses: Projection<StatusEvent> = {
  name: 'asset-statuses',
  versions: [KEY_VERSION, ROW_VERSION],
  tables: ['asset_status_entries', 'asset_statuses'],
  types: [...ENTRY_TYPES, 'ContentRedacted'],
  prepare: async (events) => {
    const incoming: Incoming[] = [];
    await forEachYielding(events, (event) => {
      const one = incomingOf(event);
      if (one !== undefined) incoming.push(one);
    });
    return ({ connection }) => write(incoming, connection);
  },
};

/** Applies events one by one. Neither their order nor how the log is split into batches changes a position. */
const write = async (incoming: readonly Incoming[], connection: PoolClient): Promise<void> => {
  const changeIds = [...new Set(incoming.map(({ changeId }) => changeId))];
  const entries = new Map((await READ_ENTRIES.run(connection, { changeIds })).map((row) => [row.changeId, row]));
  const changed = new Map<string, Entry>();
  /** The assets by hash; an asset is undefined if it is not known here. */
  const touched = new Map<string, { readonly asset: string | undefined; readonly position: number }>();
  const touch = (hash: string, position: number, asset?: string): void => {
    const known = touched.get(hash);
    if (hash === '') return;
    touched.set(hash, { asset: asset ?? known?.asset, position: Math.max(position, known?.position ?? position) });
  };
  const redacted = new Set<string>();
  for (const { changeId, entry, redactedHash, isCopy, position } of incoming) {
    const known = entries.get(changeId);
    const last = Math.max(Number(position), known?.position ?? -1);
    const own = entry?.assetHash ?? redactedHash;
    const named = new Set([...(known?.otherAssets ?? []), known?.assetHash ?? '', own]);
    for (const hash of named) touch(hash, last);
    // The earlier states in the stream are redacted as well, and the copy must not redact a later one.
    touch(own, last, entry?.asset ?? (isCopy ? undefined : ''));
    const isRedacted = entry === undefined && !isCopy && known?.assetHash === redactedHash;
    if (isRedacted) redacted.add(changeId);
    if (entry !== undefined) lastWriterWins(entries, changeId, entry);
    const state = entries.get(changeId);
    if (state === undefined) continue;
    const next = { ...state, ...(isRedacted && NO_ASSET) };
    const others = [...named].filter((hash) => hash !== '' && hash !== next.assetHash).sort();
    const row = { ...next, position: last, otherAssets: others.slice(0, MAX_OTHER_ASSETS) };
    entries.set(changeId, row);
    changed.set(changeId, row);
  }
  if (redacted.size > 0) await REDACT_ENTRIES.run(connection, { changeIds: [...redacted] });
  const rows = [...changed.values()].map((entry) => ({
    ...entry,
    reviews: entry.reviews && nameArray(entry.reviews),
    otherAssets: nameArray(entry.otherAssets!),
  }));
  await STORE_ENTRIES.runEach(connection, rows);
  const statuses = [...touched].map(([hash, { asset, position }]) => ({ assetHash: hash, asset, position }));
  await STORE_STATUSES.runEach(connection, statuses);
};
