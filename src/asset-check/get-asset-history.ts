import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { parseContent, type ParsedContent } from '../assets/parse-content.js';
import { formatInstant } from '../events/instant.js';
import { RequestTurns } from '../read-models/request-turns.js';
import { lookupText } from './lists/match-list.js';
import type { ListSource } from './lists/list-source.js';
import { SuffixHashes } from './lists/suffix-hashes.js';
import type { AssetHistoryAnswer, ListedSince } from './asset-check.dto.js';
import { type Mode, NOT_ASKED, type Opinion } from './opinion.js';
import { SourceRefresh } from './sources/source-refresh.js';
import { StatusEntries } from './own/status-entries.js';

/** The history is cut off here. */
export const MAX_ENTRIES = 100;

/** Since when this service's own statuses and each list have known an asset. */
export class GetAssetHistory extends Query<AssetHistoryAnswer> {
  constructor(
    /** Only this organization's brands are named. */
    readonly organization: string,
    readonly content: string,
  ) {
    super();
  }
}

interface AskedList {
  readonly source: string;
  readonly mode: Mode;
  readonly list: ListSource;
  readonly opinion: Opinion;
}

@QueryHandler(GetAssetHistory)
export class GetAssetHistoryHandler implements IQueryHandler<GetAssetHistory> {
  constructor(
    private readonly refresh: SourceRefresh,
    private readonly entries: StatusEntries,
    private readonly turns: RequestTurns,
  ) {}

  /**
   * @throws TooManyRequests if too many requests of the organization are waiting
   * @throws Unavailable if the log or the database cannot be reached
   */
  async execute({ organization, content }: GetAssetHistory): Promise<AssetHistoryAnswer> {
    const { reading, code, internal } = { internal: undefined, ...parseContent(content) };
    const asset = reading ?? internal;
    const understood = asset && { asset: { type: asset.type, content: asset.name } };
    if (code !== undefined) return { ...understood, code, statuses: [], hasMore: false, lists: [] };
    const asked = this.askLists(reading);
    // One extra row says whether there are more.
    const entries = await this.turns.runInTurn(organization, `history ${reading.keys.join(' ')}`, () =>
      this.entries.newest(reading.keys, organization, MAX_ENTRIES + 1),
    );
    return {
      ...understood,
      statuses: entries.slice(0, MAX_ENTRIES).map(({ status, from, brands, match }) => ({
        status,
        from: formatInstant(from),
        brands,
        match,
      })),
      hasMore: entries.length > MAX_ENTRIES,
      lists: await Promise.all(asked.map(withTimes)),
    };
  }

  /** Each list's current opinion, from one pass of hashing. */
  private askLists(reading: ParsedContent): AskedList[] {
    const hashes = new SuffixHashes();
    hashes.read(lookupText(reading), reading.isDnsName);
    return this.refresh.sources.flatMap(({ id: source, mode, of }) =>
      of.kind === 'list'
        ? [{ source, mode, list: of.list, opinion: mode === 'ENABLED' ? of.list.ask(reading, hashes) : NOT_ASKED }]
        : [],
    );
  }
}

const withTimes = async ({ source, mode, list, opinion }: AskedList): Promise<ListedSince> => {
  const { status, reason, match, isImitation } = opinion;
  // An imitation matches another host's entry, not its own.
  const seen = mode === 'ENABLED' ? await list.seenSince(isImitation ? undefined : match) : undefined;
  return {
    source,
    mode,
    status,
    ...(reason && { reason }),
    ...(match !== undefined && { match }),
    ...(seen?.since !== undefined && { seenSince: formatInstant(seen.since) }),
    ...(seen && { watchedSince: formatInstant(seen.watchedSince) }),
  };
};
