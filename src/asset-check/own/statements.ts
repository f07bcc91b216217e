import { nullable, statement, textOf } from '../../postgres/statement.js';
import type { AssetStatus } from '../../events/types/asset-statuses.js';

/** Rows per read while following the statuses. */
export const STATUS_PAGE = 5_000;

/** Which events of a set are parked: the number of them and the sum of the hashes of their ids. */
const parkedUpTo = (position: string): string => `(
        select count(*) || ' ' || coalesce(sum(hashtextextended(event_id::text, 0)), 0) from read.parked_events
        where projection = 'asset-statuses' and position <= ${position}
      )`;

/**
 * The rows changed since a position, and always what tells whether the rows before it are still those that were read:
 * the table itself, which a rebuild replaces; the parked events, because retrying one changes rows at a position already
 * passed; and the last counted event, which a failover of the database may have lost.
 */
export const STATUS_CHANGES = statement(
  'follow-asset-statuses',
  { position: 'bigint', assetHash: 'text', passed: 'bigint' },
  {
    table: nullable('text'),
    /** Those parked of the events up to `$3`. Events are parked when they are counted, so this set only ever shrinks. */
    parkedBefore: 'text',
    /** Those parked of the events up to the checkpoint. */
    parked: 'text',
    checkpoint: 'bigint',
    /** The last counted event. Null: none yet. */
    stream: nullable('text'),
    revision: nullable('bigint'),
    eventId: nullable('uuid'),
    asset: nullable('text'),
    assetHash: nullable('text'),
    /** As reported. Null: written by an earlier version. */
    content: nullable('text'),
    status: nullable(textOf<AssetStatus>()),
    createdAt: nullable('bigint'),
    position: nullable('bigint'),
  },
  `
    select g.table_id as "table", g.parked_before as "parkedBefore", g.parked, g.checkpoint, g.last_stream as "stream",
      g.last_revision as "revision", g.last_event_id as "eventId",
      s.asset, s.asset_hash as "assetHash", s.content, s.status, s.created_at as "createdAt", s.position
    from (
      select to_regclass('read.asset_statuses')::oid::text as table_id,
        coalesce(c.position, -1) as checkpoint, c.last_stream, c.last_revision, c.last_event_id,
        ${parkedUpTo('$3::bigint')} as parked_before,
        ${parkedUpTo('coalesce(c.position, -1)')} as parked
      from (select) always left join read.checkpoints c on c.projection = 'asset-statuses'
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
