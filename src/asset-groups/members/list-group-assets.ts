import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { Pool } from 'pg';
import type { Asset } from '../../assets/asset.js';
import type { AtPosition } from '../../event-log/command-queue.js';
import { EventLog } from '../../event-log/event-log.js';
import { findEvents } from '../../event-log/find-events.js';
import { parseEvent } from '../../events/event.js';
import { timeOf } from '../../events/record.js';
import { groupedAssetStream } from '../../events/streams.js';
import { formatInstant } from '../../events/instant.js';
import { TimeSlices, type Work } from '../../flow/time-slices.js';
import { PageCursors } from '../../http/responses/page-cursor.js';
import type { RowOf } from '../../postgres/statement.js';
import { RequestConcurrency } from '../../read-models/request-concurrency.js';
import { GroupFinder } from '../groups/get-asset-group.js';
import { type GroupAssetDto, type GroupAssetPageDto, INVALID_CURSOR } from './group-assets.dto.js';
import { READ_MEMBERS } from './statements.js';

export class ListGroupAssets extends Query<AtPosition<GroupAssetPageDto>> {
  constructor(
    readonly organization: string,
    readonly groupId: number,
    readonly limit: number,
    /** The cursor of an earlier page. */
    readonly cursor?: string,
  ) {
    super();
  }
}

/** The largest page in bytes of JSON. One asset takes at most a tenth of a page. */
const MAX_PAGE = 256 * 1_024;

const TIME_LIMIT_MS = 2_500;
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
   * @throws Invalid if the cursor does not belong to this group
   * @throws NotFound if the organization has no such group
   * @throws TooManyRequests if too many requests of the organization are waiting
   * @throws Unavailable if the log or the database is unavailable
   */
  async execute({ organization, groupId, limit, cursor }: ListGroupAssets): Promise<AtPosition<GroupAssetPageDto>> {
    const cursors = new PageCursors(await this.log.id(), 'group assets', INVALID_CURSOR);
    const [after] = cursor === undefined ? FIRST : cursors.read(groupId, cursor, FIRST);
    const key = JSON.stringify(['assets', groupId, limit, after]);
    return this.concurrency.run(organization, key, () => this.readPage(organization, groupId, limit, after, cursors));
  }

  private async readPage(
    organization: string,
    groupId: number,
    limit: number,
    after: string,
    cursors: PageCursors,
  ): Promise<AtPosition<GroupAssetPageDto>> {
    // The members are read later, so they include everything up to this position.
    const { position } = await this.groups.get(organization, groupId);
    // The extra row shows whether there is another page.
    const values = { organization, groupId, after, limit: limit + 1, maxBytes: MAX_PAGE };
    const rows = await READ_MEMBERS.run(this.pool, values, TIME_LIMIT_MS);
    const missing = await this.readMissing(organization, rows);
    const assets = await this.slices.run(organization, fill(rows, missing, limit));
    const hasMore = assets.length < rows.length || (rows.at(-1)?.bytes ?? 0) >= MAX_PAGE;
    const nextCursor = hasMore ? cursors.write(groupId, [rows[assets.length - 1]!.hash]) : undefined;
    return { result: { assets, ...(hasMore && { nextCursor }) }, position };
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

/** Returns as many assets as fit into a page, but at least one. */
function* fill(rows: readonly Row[], missing: ReadonlyMap<string, Asset>, limit: number): Work<GroupAssetDto[]> {
  const assets: GroupAssetDto[] = [];
  let bytes = 0;
  for (const { hash, type, content, version } of rows.slice(0, limit)) {
    const stored = type === null || content === null ? missing.get(hash)! : { type, content };
    const asset = { ...stored, since: formatInstant(timeOf(version)) };
    bytes += Buffer.byteLength(JSON.stringify(asset)) + 1;
    if (bytes > MAX_PAGE && assets.length > 0) break;
    assets.push(asset);
    yield;
  }
  return assets;
}
