import { Injectable } from '@nestjs/common';
import { Pool } from 'pg';
import { nullable, statement, textOf, type RowOf } from '../../postgres/statement.js';
import type { AssetStatus } from '../../events/types/verdicts.js';
import { hashOfKey } from '../../assets/asset.js';
import { EventLog } from '../../event-log/event-log.js';
import { findEvents } from '../../event-log/read-streams.js';
import { parseEvent } from '../../events/event.js';
import { timeOf } from '../../events/record.js';
import { assetStatusStream } from '../../events/streams.js';
import { TIME_LIMIT_MS } from '../../read-models/request-concurrency.js';

/** Maximum number of rows that one poll of the statuses reads. */
export const STATUS_PAGE = 5_000;

/**
 * Reads the rows that changed after a position. Each row also tells whether the rows that were read earlier are still
 * valid; if no row has changed, the statement returns one row without an asset. For this check, a row has the id of the
 * table, which a rebuild replaces; and the last applied event, which a failover of the database may have lost.
 */
export const STATUS_CHANGES = statement(
  'follow-asset-statuses',
  { position: 'bigint', assetHash: 'text' },
  {
    table: nullable('text'),
    checkpoint: 'bigint',
    /** The rows include everything that was acknowledged before this instant, in ms. */
    asOf: 'bigint',
    /** The stream of the last applied event. Null if no event has been applied yet. */
    stream: nullable('text'),
    revision: nullable('bigint'),
    eventId: nullable('uuid'),
    asset: nullable('text'),
    assetHash: nullable('text'),
    /** The content as reported. Null if an earlier version wrote the row. */
    content: nullable('text'),
    status: nullable(textOf<AssetStatus>()),
    createdAt: nullable('bigint'),
    position: nullable('bigint'),
    /** ms. Null: the status does not expire. */
    expiresAt: nullable('bigint'),
    /** As in `StoredStatus`. */
    followers: nullable('text'),
  },
  `
    select g.table_id as "table", g.checkpoint, g.as_of as "asOf", g.last_stream as "stream",
      g.last_revision as "revision", g.last_event_id as "eventId",
      s.asset, s.asset_hash as "assetHash", s.content, s.status, s.created_at as "createdAt", s.position,
      s.expires_at as "expiresAt", s.followers::text as followers
    from (
      select to_regclass('read.asset_statuses')::oid::text as table_id,
        coalesce(c.position, -1) as checkpoint, coalesce(c.as_of, 0) as as_of, c.last_stream, c.last_revision, c.last_event_id
      from (select) always left join read.checkpoints c on c.projection = 'asset-statuses'
    ) g
    left join lateral (
      select * from read.asset_statuses
      where (position, asset_hash) > (:position, :assetHash)
      order by position, asset_hash limit ${STATUS_PAGE}
    ) s on true
    order by s.position, s.asset_hash`,
);

/**
 * Reads the newest entries of assets. Each asset is an index lookup, so that the cost does not depend on the length of
 * the history.
 */
export const NEWEST_STATUS_ENTRIES = statement(
  'asset-status-entries-newest',
  { hashes: 'text[]', organization: 'text', limit: 'bigint' },
  {
    key: 'text',
    /** The content as reported. Null if an earlier version wrote the row. */
    content: nullable('text'),
    hash: 'text',
    status: textOf<AssetStatus>(),
    version: 'bigint',
    eventId: 'uuid',
    /** Null if an earlier version wrote the row. */
    brands: nullable('text[]'),
    expiresAt: nullable('bigint'),
  },
  `
    select e.asset as key, e.content, e.asset_hash as hash, e.status, e.version, e.event_id as "eventId",
      case when e.reviews is not null then array(
        select substr(review, length(:organization) + 2) from unnest(e.reviews) review
        where starts_with(review, :organization || ':') order by 1
      ) end as brands,
      e.expires_at as "expiresAt"
    from unnest(:hashes) requested (hash)
    cross join lateral (
      select * from read.asset_status_entries
      where asset_hash = requested.hash and status is not null
      order by version desc, event_id desc limit :limit
    ) e
    order by e.version desc, e.event_id desc limit :limit`,
);

/** An entry of this service's own status history. */
interface StatusEntry {
  readonly status: AssetStatus;
  /** When the status began, in ms. */
  readonly from: number;
  /** From when on the entry does not determine the status any more, in ms. Undefined: never. */
  readonly expiresAt: number | undefined;
  /** The brands of the requesting organization that reviewed the asset, in alphabetical order. */
  readonly brands: readonly string[];
  /** The asset that has the status, as upstream reported the asset. */
  readonly match: string;
}

type Row = RowOf<typeof NEWEST_STATUS_ENTRIES>;

/** Reads this service's own status history from the read models. */
@Injectable()
export class StatusEntries {
  constructor(
    private readonly pool: Pool,
    private readonly log: EventLog,
  ) {}

  /**
   * @param keys the keys that the asset may be stored under
   * @returns at most `limit` entries, newest first
   */
  async newest(keys: readonly string[], organization: string, limit: number): Promise<StatusEntry[]> {
    const values = { hashes: keys.map(hashOfKey), organization, limit };
    const rows = await NEWEST_STATUS_ENTRIES.run(this.pool, values, TIME_LIMIT_MS);
    const missing = await this.readMissing(rows, organization);
    return rows.map(({ key, content, status, version, eventId, brands, expiresAt }) => ({
      status,
      from: timeOf(version),
      expiresAt: expiresAt ?? undefined,
      brands: brands ?? missing.get(eventId) ?? [],
      match: content ?? key.slice(key.indexOf(':') + 1),
    }));
  }

  /** Reads brands from the log, for rows that an earlier version wrote without brands. */
  private async readMissing(rows: readonly Row[], organization: string): Promise<ReadonlyMap<string, string[]>> {
    const brands = new Map<string, string[]>();
    const old = rows.filter((row) => row.brands === null);
    for (const hash of new Set(old.map((row) => row.hash))) {
      const ids = new Set(old.filter((row) => row.hash === hash).map(({ eventId }) => eventId));
      for (const [id, { data }] of await findEvents(this.log, assetStatusStream(hash), ids)) {
        const reviews = parseEvent('AssetStatusChanged', data).event?.data.brandReviews ?? [];
        const ownBrands = reviews.filter((review) => review.organization === organization).map(({ brand }) => brand);
        brands.set(id, ownBrands.sort());
      }
    }
    return brands;
  }
}
