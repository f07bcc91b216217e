import { nullable, statement, textOf } from '../../postgres/statement.js';
import type { AssetStatus } from '../../events/types/asset-statuses.js';

/** Rows per read while following the statuses. */
export const STATUS_PAGE = 5_000;

/**
 * The rows changed since a position, and always the table's generation. A rebuild replaces the table, and retrying a
 * parked event changes rows at a position already passed; after either everything is read again.
 */
export const STATUS_CHANGES = statement(
  'follow-asset-statuses',
  { position: 'bigint', assetHash: 'text' },
  {
    /** The table's identity and its number of parked events: if either changes, positions are not comparable. */
    generation: nullable('text'),
    asset: nullable('text'),
    assetHash: nullable('text'),
    /** As reported. Null: written by an earlier version. */
    content: nullable('text'),
    status: nullable(textOf<AssetStatus>()),
    createdAt: nullable('bigint'),
    position: nullable('bigint'),
  },
  `
    select g.generation, s.asset, s.asset_hash as "assetHash", s.content, s.status, s.created_at as "createdAt", s.position
    from (
      select to_regclass('read.asset_statuses')::oid::text || ' '
        || (select count(*) from read.parked_events where projection = 'asset-statuses') as generation
    ) g
    left join lateral (
      select * from read.asset_statuses
      where (position, asset_hash) > ($1::bigint, $2::text)
      order by position, asset_hash limit ${STATUS_PAGE}
    ) s on true
    order by s.position, s.asset_hash`,
);

/** Uses the index per asset, so that the newest entries cost the same however many there are. */
export const NEWEST_STATUS_ENTRIES = statement(
  'asset-status-entries-newest',
  { hashes: 'text[]', organization: 'text', limit: 'bigint' },
  {
    key: 'text',
    /** As reported. Null: written by an earlier version, which did not store it. */
    content: nullable('text'),
    hash: 'text',
    status: textOf<AssetStatus>(),
    version: 'bigint',
    eventId: 'uuid',
    /** Null: written by an earlier version, which did not store them. */
    brands: nullable('text[]'),
  },
  `
    select e.asset as key, e.content, e.asset_hash as hash, e.status, e.version, e.event_id as "eventId",
      case when e.reviews is not null then array(
        select substr(review, length($2) + 2) from unnest(e.reviews) review
        where starts_with(review, $2 || ':') order by 1
      ) end as brands
    from unnest($1::text[]) asked (hash)
    cross join lateral (
      select * from read.asset_status_entries
      where asset_hash = asked.hash and status is not null
      order by version desc, event_id desc limit $3
    ) e
    order by e.version desc, e.event_id desc limit $3`,
);
