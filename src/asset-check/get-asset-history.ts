import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { parseContent } from '../assets/parse-content.js';
import type { ParsedContent } from '../assets/asset.js';
import type { AtPosition } from '../event-log/command-queue.js';
import { formatInstant } from '../events/instant.js';
import { RequestConcurrency } from '../read-models/request-concurrency.js';
import { lookupText } from './lists/match-list.js';
import type { ListSource } from './lists/list-source.js';
import { SuffixHashes } from './lists/host-table.js';
import type { AssetHistoryResponse, ListedSince } from './asset-check.dto.js';
import { ConfiguredSources } from './sources/configured-sources.js';
import { StatusEntries } from './own/status-entries.js';
import { limit } from '../limits.js';

/** Maximum number of statuses in a history. */
export const MAX_ENTRIES = limit("newest entries of an asset's history", 100, 'entries', 'request', 'omitted');

/** Returns this service's own status history of an asset, and since when each list has had the asset. */
export class GetAssetHistory extends Query<AtPosition<AssetHistoryResponse>> {
  constructor(
    /** Only brands of this organization are returned. */
    readonly organization: string,
    readonly content: string,
  ) {
    super();
  }
}

@QueryHandler(GetAssetHistory)
export class GetAssetHistoryHandler implements IQueryHandler<GetAssetHistory> {
  constructor(
    private readonly configured: ConfiguredSources,
    private readonly entries: StatusEntries,
    private readonly concurrency: RequestConcurrency,
  ) {}

  /**
   * @throws TooManyRequests if too many requests of the organization are waiting
   * @throws Unavailable if the log or the database cannot be reached
   */
  async execute({ organization, content }: GetAssetHistory): Promise<AtPosition<AssetHistoryResponse>> {
    const { parsed, code, internalAddress } = parseContent(content);
    const asset = parsed ?? internalAddress;
    const understood = asset && { type: asset.type, content: asset.name };
    if (code !== undefined)
      return {
        result: { asset: understood, code, statuses: [], hasMore: false, lists: [] },
        position: this.position(),
      };
    const keys = [...parsed.keys, ...(parsed.blockingKeys ?? [])];
    // The lists are checked by their text of the asset, which the keys do not determine.
    return this.concurrency.run(organization, JSON.stringify(['history', content]), async () => {
      const position = this.position();
      // One additional entry tells whether older statuses exist.
      const entries = await this.entries.newest(keys, organization, MAX_ENTRIES + 1);
      const result = {
        asset: understood,
        statuses: entries.slice(0, MAX_ENTRIES).map((entry) => ({
          ...entry,
          from: formatInstant(entry.from),
          expiresAt: entry.expiresAt === undefined ? undefined : formatInstant(entry.expiresAt),
        })),
        hasMore: entries.length > MAX_ENTRIES,
        lists: await this.checkLists(parsed),
      };
      return { result, position };
    });
  }

  /** The statuses in memory were read from the same tables before, so a history includes everything up to their position. */
  private position(): bigint {
    return BigInt(this.configured.own?.position ?? -1);
  }

  /** Returns the current result of each list, and since when the list has the matching entry. */
  private checkLists(parsed: ParsedContent): Promise<ListedSince[]> {
    const hashes = new SuffixHashes();
    hashes.read(lookupText(parsed), parsed.isDnsName);
    return Promise.all(
      this.configured.sources.flatMap(({ id: source, mode, of }) =>
        of.kind === 'list' ? [historyOf(of.list, { source, mode }, parsed, hashes)] : [],
      ),
    );
  }
}

const historyOf = async (
  list: ListSource,
  { source, mode }: Pick<ListedSince, 'source' | 'mode'>,
  parsed: ParsedContent,
  hashes: SuffixHashes,
): Promise<ListedSince> => {
  if (mode === 'DISABLED') return { source, mode, status: 'UNKNOWN' };
  const { status, reason, match, guardedBy, isImitation } = list.check(parsed, hashes);
  // The entry that an imitation matches is for another host, so its first-seen time does not apply.
  const firstSeen = await list.seenSince(isImitation ? undefined : match);
  return {
    source,
    mode,
    status,
    reason,
    match,
    guardedBy,
    seenSince: firstSeen?.since === undefined ? undefined : formatInstant(firstSeen.since),
    watchedSince: firstSeen && formatInstant(firstSeen.watchedSince),
  };
};
