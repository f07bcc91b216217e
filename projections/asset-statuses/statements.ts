import { REDACTED } from '../../src/events/redacted.js';
import { nullable, statement } from '../../src/postgres/statement.js';
import { storeNewest } from '../store-newest.js';

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
  },
  `
    select change_id as "changeId", asset_hash as "assetHash", asset, content, status, version, event_id as "eventId",
      reviews
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
  },
  { key: ['changeId'] },
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
 * no entry has the content; such a row tells processes that a key which they cannot know any more has no status.
 */
export const STORE_STATUSES = statement(
  'store-asset-statuses',
  { assetHash: 'text[]', asset: 'text[]', position: 'bigint[]' },
  {},
  `
    insert into asset_statuses as s (asset_hash, asset, content, status, created_at, position)
    select t.asset_hash, coalesce(newest.asset, t.asset), newest.content, coalesce(newest.status, 'UNKNOWN'), newest.version / 2, t.position
    from unnest($1::text[], $2::text[], $3::bigint[]) t (asset_hash, asset, position)
    left join lateral (
      select e.asset, e.content, e.status, e.version from asset_status_entries e
      where e.asset_hash = t.asset_hash and e.status is not null
      order by e.version desc, e.event_id desc limit 1
    ) newest on true
    on conflict (asset_hash) do update
      set asset = excluded.asset, content = excluded.content, status = excluded.status, created_at = excluded.created_at,
          position = greatest(s.position, excluded.position)`,
);
