import type { PoolClient } from 'pg';
import { REDACTED } from '../src/events/redacted.js';
import { nullable, statement, nameArray, type RowOf } from '../src/postgres/statement.js';
import { storeNewest } from './store-newest.js';
import { hashOfKey, KEY_VERSION } from '../src/assets/asset.js';
import type { EventOf } from '../src/events/event.js';
import { ENTRY_TYPES, recordOf } from '../src/events/record.js';
import { keyOf } from '../src/events/stored-key.js';
import { forEachYielding } from '../src/flow/time.js';
import { LATEST } from '../src/events/instant.js';
import { limit } from '../src/limits.js';
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
    expiresAt: nullable('bigint'),
  },
  `
    select change_id as "changeId", asset_hash as "assetHash", asset, content, status, version, event_id as "eventId",
      reviews, expires_at as "expiresAt"
    from asset_status_entries where change_id = any(:changeIds)`,
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
    expiresAt: 'bigint',
  },
  { key: ['changeId'] },
);

/** Removes the assets of entries. The entries keep their statuses, which apply to nothing. */
export const REDACT_ENTRIES = statement(
  'asset-statuses-redact-entries',
  { changeIds: 'text[]' },
  `
    update asset_status_entries set asset_hash = '', asset = '', content = '${REDACTED}'
    where change_id = any(:changeIds)`,
);

/** How many of the newest entries of an asset are searched for those that follow an entry with `expiresAt`. */
const SEARCHED_ENTRIES = limit(
  'newest entries of an asset, one of which follows an expired one',
  1_000,
  'entries',
  'asset',
  'do not follow',
);
/** The maximum number of followers that a row has. The one that lasts longest is always among them. */
const MAX_FOLLOWERS = limit(
  'statuses of an asset that follow each other without an event',
  16,
  'entries',
  'asset',
  'the one that lasts longest follows at once',
);

/**
 * SQL for the entries that determine the status of an asset after `newest` has expired, as `Follower`s. An entry follows
 * if it lasts longer than every newer entry. Which entries follow does not depend on the clock, so that rows do not
 * depend on when they were computed. Followers have no content, so that a redaction finds none, also one by version 2.2
 * after a rollback.
 */
const FOLLOWERS = `
  select jsonb_agg(jsonb_build_object('status', status, 'since', version / 2, 'expiresAt', expires_at) order by number)
  from (
    select *, row_number() over (order by version desc, event_id desc) as number, count(*) over () as total
    from (
      select *, max(coalesce(expires_at, ${LATEST + 1})) over (
        order by version desc, event_id desc rows between unbounded preceding and 1 preceding
      ) as outlasted
      from (
        select * from asset_status_entries e where e.asset_hash = t.asset_hash and e.status is not null
        order by e.version desc, e.event_id desc limit ${SEARCHED_ENTRIES}
      ) searched
    ) compared
    where coalesce(expires_at, ${LATEST + 1}) > outlasted
  ) following
  where number < ${MAX_FOLLOWERS} or number = total`;

/**
 * Computes the statuses of assets. The key of an asset is '' if the last event about the asset redacted its content and
 * no entry has the content; such a row tells processes that a key which they cannot know any more has no status.
 */
export const STORE_STATUSES = statement(
  'store-asset-statuses',
  { assetHash: 'text[]', asset: 'text[]', position: 'bigint[]' },
  `
    insert into asset_statuses as s (asset_hash, asset, content, status, created_at, position, expires_at, followers)
    select t.asset_hash, coalesce(newest.asset, t.asset), newest.content, coalesce(newest.status, 'UNKNOWN'), newest.version / 2, t.position,
      newest.expires_at, case when newest.expires_at is not null then (${FOLLOWERS}) end
    from unnest(:assetHash, :asset, :position) t (asset_hash, asset, position)
    left join lateral (
      select e.asset, e.content, e.status, e.version, e.expires_at from asset_status_entries e
      where e.asset_hash = t.asset_hash and e.status is not null
      order by e.version desc, e.event_id desc limit 1
    ) newest on true
    on conflict (asset_hash) do update
      set asset = excluded.asset, content = excluded.content, status = excluded.status, created_at = excluded.created_at,
          position = greatest(s.position, excluded.position), expires_at = excluded.expires_at, followers = excluded.followers`,
);

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
  expiresAt: event.type === 'AssetStatusChanged' ? (event.data.expiresAt ?? null) : null,
});

/**
 * For each asset: the status of its newest entry that is not deleted, from when on it has expired, what follows it, and
 * the position of the last event about the asset. Processes that keep statuses in memory read only assets whose position
 * is later than the last position that they have read.
 */
export const assetStatuses: Projection<StatusEvent> = {
  name: 'asset-statuses',
  versions: [KEY_VERSION],
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

/**
 * Applies events one by one in the order of the log, so that positions do not depend on how the log is split into
 * batches.
 */
const write = async (incoming: readonly Incoming[], connection: PoolClient): Promise<void> => {
  const changeIds = [...new Set(incoming.map(({ changeId }) => changeId))];
  const entries = new Map((await READ_ENTRIES.run(connection, { changeIds })).map((row) => [row.changeId, row]));
  const changed = new Map<string, Entry>();
  const touched = new Map<string, { readonly asset: string; readonly position: bigint }>();
  const touch = ({ assetHash: hash, asset }: Pick<Entry, 'assetHash' | 'asset'>, position: bigint): void => {
    const known = touched.get(hash);
    if (hash !== '' && (!known || known.position < position)) touched.set(hash, { asset, position });
  };
  const redacted = new Set<string>();
  for (const { changeId, entry, redactedHash, isCopy, position } of incoming) {
    const known = entries.get(changeId);
    if (entry === undefined) {
      touch({ assetHash: redactedHash, asset: '' }, position);
      // The earlier states in the stream are redacted as well, and the copy must not redact a later one.
      if (isCopy || known?.assetHash !== redactedHash) continue;
      const withoutAsset = { ...known, ...NO_ASSET };
      entries.set(changeId, withoutAsset);
      if (changed.has(changeId)) changed.set(changeId, withoutAsset);
      else redacted.add(changeId);
      continue;
    }
    if (known) touch(known, position);
    touch(entry, position);
    if (lastWriterWins(entries, entry.changeId, entry)) changed.set(entry.changeId, entry);
  }
  if (redacted.size > 0) await REDACT_ENTRIES.run(connection, { changeIds: [...redacted] });
  const rows = [...changed.values()].map((entry) => ({ ...entry, reviews: entry.reviews && nameArray(entry.reviews) }));
  await STORE_ENTRIES.runEach(connection, rows);
  const statuses = [...touched].map(([hash, last]) => ({ assetHash: hash, ...last }));
  await STORE_STATUSES.runEach(connection, statuses);
};
