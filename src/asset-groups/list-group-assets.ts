import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { queryOf } from '../http/requests.js';
import { Pool } from 'pg';
import { nullable, statement, type RowOf } from '../postgres/statement.js';
import type { Asset } from '../assets/asset.js';
import type { AtPosition } from '../event-log/command-queue.js';
import { EventLog } from '../event-log/event-log.js';
import { findEvents } from '../event-log/read-streams.js';
import { parseEvent } from '../events/event.js';
import { timeOf } from '../events/record.js';
import { groupedAssetStream } from '../events/streams.js';
import { formatInstant } from '../events/instant.js';
import { TimeSlices, type Work } from '../flow/turns.js';
import { PageCursors } from '../http/responses/page-cursor.js';
import { RequestConcurrency, TIME_LIMIT_MS } from '../read-models/request-concurrency.js';
import { GroupFinder } from './load-groups.js';
import { type GroupAssetDto, INVALID_CURSOR } from './asset-groups.dto.js';
import { limit } from '../limits.js';

/** The estimated size in bytes of a row whose asset is only in the log. */
const UNKNOWN_SIZE = 1_024;

/**
 * A page of the members of a group. Members are ordered by the hash of the asset, the only property of a member that no
 * event changes, so that consecutive pages are consistent even if the group changes in between. Rows beyond `maxBytes`
 * of content are not sent. To find these rows, PostgreSQL need not read the contents, because the length of a content
 * is stored with the row. `bytes` is the total size of the contents of this row and all rows before it.
 */
export const READ_MEMBERS = statement(
  'asset-groups-members',
  { organization: 'text', groupId: 'bigint', after: 'text', limit: 'bigint', maxBytes: 'bigint' },
  {
    hash: 'text',
    type: nullable('text'),
    content: nullable('text'),
    version: 'bigint',
    eventId: 'uuid',
    bytes: 'bigint',
  },
  `
    select hash, type, content, version, "eventId", bytes
    from (
      select asset as hash, type, content, version, event_id as "eventId", row_bytes,
        sum(row_bytes) over (order by asset) as bytes
      from (
        select asset, type, content, version, event_id, coalesce(octet_length(content), ${UNKNOWN_SIZE}) as row_bytes
        from read.grouped_assets
        where organization = :organization and group_id = :groupId and asset > :after
        order by asset
        limit :limit
      ) next
    ) sized
    where bytes - row_bytes < :maxBytes
    order by hash`,
);

/**
 * The group and the version of each asset that was ever in a group. `groupId` is null if the asset is currently in no
 * group.
 */
export const READ_PLACEMENTS = statement(
  'asset-groups-placements',
  { organization: 'text', hashes: 'text[]' },
  { hash: 'text', groupId: nullable('bigint'), version: 'bigint' },
  `
    select a.asset as hash, g.group_id as "groupId", a.version
    from read.grouped_assets a
    left join read.asset_groups g
      on g.organization = a.organization and g.group_id = a.group_id and g.name is not null
    where a.organization = :organization and a.asset = any(:hashes)`,
);

interface RequestedPage {
  readonly organization: string;
  readonly groupId: number;
  readonly limit: number;
  /** The cursor of an earlier page. */
  readonly cursor?: string | undefined;
}

/** A page as JSON (`GroupAssetPageDto`), which the requests that share the page also share. */
export class ListGroupAssets extends queryOf<AtPosition<string>, RequestedPage>() {}

/** The largest page in bytes of JSON. One asset takes at most a tenth of a page. */
const MAX_PAGE = limit("page of a group's assets", 256 * 1_024, 'bytes', 'request', 'the page is shorter');

/** Maximum number of streams that are read concurrently, for rows that do not contain the asset. */
const MAX_CONCURRENT_READS = 8;

type Row = RowOf<typeof READ_MEMBERS>;

/** The position before the first asset. A position is the hash after which a page begins. */
const FIRST: readonly [hash: string] = [''];

@QueryHandler(ListGroupAssets)
export class ListGroupAssetsHandler implements IQueryHandler<ListGroupAssets> {
  constructor(
    private readonly pool: Pool,
    private readonly log: EventLog,
    private readonly groups: GroupFinder,
    private readonly concurrency: RequestConcurrency,
    private readonly slices: TimeSlices,
  ) {}

  /**
   * @throws Invalid if the cursor does not belong to this group of this organization
   * @throws NotFound if the organization has no such group
   * @throws TooManyRequests if too many requests of the organization are waiting
   * @throws Unavailable if the log or the database is unavailable
   */
  async execute({ organization, groupId, limit, cursor }: ListGroupAssets): Promise<AtPosition<string>> {
    const cursors = new PageCursors(await this.log.id(), 'group assets', INVALID_CURSOR);
    const [after] = cursor === undefined ? FIRST : cursors.read([organization, groupId], cursor, FIRST);
    const key = JSON.stringify(['assets', groupId, limit, after]);
    return this.concurrency.run(organization, key, () => this.readPage(organization, groupId, limit, after, cursors));
  }

  private async readPage(
    organization: string,
    groupId: number,
    limit: number,
    after: string,
    cursors: PageCursors,
  ): Promise<AtPosition<string>> {
    // The members are read later, so they include everything up to this position.
    const { position } = await this.groups.get(organization, groupId);
    // The extra row shows whether there is another page.
    const values = { organization, groupId, after, limit: limit + 1, maxBytes: MAX_PAGE };
    const rows = await READ_MEMBERS.run(this.pool, values, TIME_LIMIT_MS);
    const missing = await this.readMissing(organization, rows);
    const assets = await this.slices.run(organization, fill(rows, missing, limit));
    const hasMore = assets.length < rows.length || (rows.at(-1)?.bytes ?? 0) >= MAX_PAGE;
    const nextCursor = hasMore ? cursors.write([organization, groupId], [rows[assets.length - 1]!.hash]) : undefined;
    const next = nextCursor === undefined ? '' : `,"nextCursor":${JSON.stringify(nextCursor)}`;
    return { result: `{"assets":[${assets.join(',')}]${next}}`, position };
  }

  /** Reads assets from the log, for rows that an earlier version wrote without the asset. */
  private async readMissing(organization: string, page: readonly Row[]): Promise<ReadonlyMap<string, Asset>> {
    const rows = page.filter(({ type }) => type === null);
    const assets = new Map<string, Asset>();
    for (let start = 0; start < rows.length; start += MAX_CONCURRENT_READS)
      await Promise.all(
        rows.slice(start, start + MAX_CONCURRENT_READS).map(async ({ hash, eventId }) => {
          const stream = groupedAssetStream(organization, hash);
          const recorded = (await findEvents(this.log, stream, new Set([eventId]))).get(eventId);
          const { event } = parseEvent('AssetGrouped', recorded?.data);
          if (!event) throw new Error(`${stream} does not hold ${eventId}; run "projections rebuild asset-groups"`);
          assets.set(hash, event.data.asset);
        }),
      );
    return assets;
  }
}

/** Returns as many assets as fit into a page, but at least one, each as JSON. */
function* fill(rows: readonly Row[], missing: ReadonlyMap<string, Asset>, limit: number): Work<string[]> {
  const assets: string[] = [];
  let bytes = 0;
  for (const { hash, type, content, version } of rows.slice(0, limit)) {
    const stored = type === null || content === null ? missing.get(hash)! : { type, content };
    const asset = JSON.stringify({ ...stored, since: formatInstant(timeOf(version)) } satisfies GroupAssetDto);
    bytes += Buffer.byteLength(asset) + 1;
    if (bytes > MAX_PAGE && assets.length > 0) break;
    assets.push(asset);
    yield;
  }
  return assets;
}
