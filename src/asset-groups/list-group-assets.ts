import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { Pool } from 'pg';
import type { Asset } from '../assets/asset.js';
import { EventLog } from '../event-log/event-log.js';
import { findEvents } from '../event-log/find-events.js';
import { parseEvent } from '../events/event.js';
import { formatInstant } from '../events/instant.js';
import { asUnavailable } from '../postgres/transient-errors.js';
import { compiled } from '../read-models/compiled.js';
import { GroupFinder } from './get-asset-group.js';
import type { GroupAssetPageDto } from './group-assets.dto.js';
import { cursorAfter, readCursor } from './member-cursor.js';

export class ListGroupAssets extends Query<GroupAssetPageDto> {
  constructor(
    readonly organization: string,
    readonly groupId: number,
    readonly limit: number,
    /** From an earlier page. */
    readonly cursor?: string,
  ) {
    super();
  }
}

// Ordered by the asset's hash, the only property of a member that no event changes, so that pages fit together whatever
// is written in between.
const findMembers = compiled(
  'asset-groups-members',
  (db, asked: { organization: string; groupId: number; after: string; limit: number }) =>
    db
      .selectFrom('grouped_assets')
      .select(['asset as hash', 'type', 'content', 'version', 'event_id as eventId'])
      .where('organization', '=', asked.organization)
      .where('group_id', '=', asked.groupId)
      .where('asset', '>', asked.after)
      .orderBy('asset')
      .limit(asked.limit),
);
const TIME_LIMIT_MS = 4_500;
/** Concurrent stream reads, for rows that do not name the asset. */
const MAX_STREAMS = 8;

type Row = Awaited<ReturnType<typeof findMembers>>[number];

@QueryHandler(ListGroupAssets)
export class ListGroupAssetsHandler implements IQueryHandler<ListGroupAssets> {
  constructor(
    private readonly pool: Pool,
    private readonly log: EventLog,
    private readonly groups: GroupFinder,
  ) {}

  /**
   * @throws Invalid if the cursor is not of this group
   * @throws NotFound if the organization has no such group
   * @throws Unavailable if the log or the database is unavailable
   */
  async execute({ organization, groupId, limit, cursor }: ListGroupAssets): Promise<GroupAssetPageDto> {
    const after = cursor === undefined ? '' : readCursor(cursor, groupId);
    try {
      await this.groups.get(organization, groupId);
      // One extra row says whether there is another page.
      const rows = await findMembers(this.pool, { organization, groupId, after, limit: limit + 1 }, TIME_LIMIT_MS);
      const page = rows.slice(0, limit);
      const unsaid = await this.readUnsaid(organization, page);
      const assets = page.map(({ hash, type, content, version }) => {
        const asset = type === null || content === null ? unsaid.get(hash)! : { type, content };
        return { ...asset, since: formatInstant(Math.floor(version / 2)) };
      });
      return rows.length > limit ? { assets, nextCursor: cursorAfter(groupId, page.at(-1)!.hash) } : { assets };
    } catch (error) {
      throw asUnavailable(error);
    }
  }

  /** The assets missing from rows of an earlier version, read from the log. */
  private async readUnsaid(organization: string, page: readonly Row[]): Promise<ReadonlyMap<string, Asset>> {
    const rows = page.filter(({ type }) => type === null);
    const assets = new Map<string, Asset>();
    for (let start = 0; start < rows.length; start += MAX_STREAMS)
      await Promise.all(
        rows.slice(start, start + MAX_STREAMS).map(async ({ hash, eventId }) => {
          const stream = `groupedAsset-${organization}:${hash}`;
          const recorded = (await findEvents(this.log, stream, new Set([eventId]))).get(eventId);
          const { event } = parseEvent('AssetGrouped', recorded?.data);
          if (!event) throw new Error(`${stream} does not hold ${eventId}; run "projections rebuild asset-groups"`);
          assets.set(hash, event.data.asset);
        }),
      );
    return assets;
  }
}
