import type { ParsedContent } from '../../assets/asset.js';
import { FAILED, type SourceMode, type SourceResult, NOT_QUERIED, type AttributedResult } from '../verdict.js';
import { lookupText } from '../lists/match-list.js';
import { type ListSource, withoutSecrets } from '../lists/list-source.js';
import type { LookupBudget, LookupSource } from '../lookup-source.js';
import type { OwnStatuses } from '../own/own-statuses.js';
import type { SuffixHashes } from '../lists/host-table.js';
import type { Config } from '../../runtime/config.js';
import { ListCopy, type ListState } from '../lists/list-copy.js';
import { readSourcesFile } from './sources-file.js';

/** One configured source. */
export interface Source {
  readonly id: string;
  readonly mode: SourceMode;
  readonly appeal?: string;
  /** Whether its verdicts may be passed on in local lists. */
  readonly redistribute?: boolean;
  readonly of:
    | { readonly kind: 'own'; readonly statuses: OwnStatuses }
    | { readonly kind: 'list'; readonly list: ListSource }
    | { readonly kind: 'http'; readonly lookUp: LookupSource };
}

/** The input of a query to the sources. */
interface SourceQuery {
  readonly content: string;
  readonly parsed: ParsedContent;
  /** The organization that asks. Lookups of different organizations take turns. */
  readonly organization: string;
  /** Value of `performance.now()` at which lookups time out. */
  readonly deadline: number;
  /** Undefined: lookups are not limited. */
  readonly lookups: LookupBudget | undefined;
  /** A buffer that `querySources` fills with the hashes of the host or account. */
  readonly hashes: SuffixHashes;
}

/**
 * Queries every enabled source. Returns a promise only if a lookup must be awaited.
 * @param onFailure called for a source that threw; the results of other sources are still used
 */
export const querySources = (
  sources: readonly Source[],
  query: SourceQuery,
  onFailure: (source: string, error: unknown) => void,
): readonly AttributedResult[] | Promise<readonly AttributedResult[]> => {
  // The hashes are computed once for all lists. The next query can reuse the buffer, because lists are queried
  // synchronously.
  query.hashes.read(lookupText(query.parsed), query.parsed.isDnsName);
  let isPending = false;
  const results = sources.map((source) => {
    if (source.mode === 'DISABLED') return NOT_QUERIED;
    try {
      const result = querySource(source, query);
      isPending ||= result instanceof Promise;
      return result;
    } catch (error) {
      onFailure(source.id, error);
      return FAILED;
    }
  });
  if (!isPending) return withSources(sources, results as SourceResult[]);
  return Promise.all(results.map((result) => Promise.resolve(result))).then((all) => withSources(sources, all));
};

const querySource = (
  { of }: Source,
  { content, parsed, organization, deadline, hashes, lookups }: SourceQuery,
): SourceResult | Promise<SourceResult> => {
  if (of.kind === 'list') return of.list.check(parsed, hashes);
  return of.kind === 'own' ? of.statuses.check(parsed) : of.lookUp.check(content, organization, deadline, lookups);
};

const withSources = (sources: readonly Source[], results: readonly SourceResult[]): readonly AttributedResult[] =>
  sources.map(({ id, mode, of }, index) => ({
    source: id,
    isOwn: of.kind === 'own',
    mode,
    result: results[index]!,
  }));

type Saved = Pick<ListState, 'id' | 'entries' | 'refused' | 'rejected' | 'overruled' | 'lastError' | 'lastErrorAt'>;

/** The state of a list, as shown to an operator. */
export interface ListStatus extends Saved {
  readonly kind: 'list' | 'guard';
  readonly mode: SourceMode;
  /** The path of the list, or its URL without user, password, query and fragment. */
  readonly from: string;
  /** Time since the list was last known to be current; absent if the list was never read. */
  readonly ageSeconds?: number;
}

/**
 * Reads, for each list and guard in the configured order, the state that an instance of the API saved last. The instances need
 * not be running.
 * @throws ConfigError if the sources file is invalid
 */
export const readSourcesStatus = async (
  config: Pick<Config, 'sourcesFile' | 'variable' | 'dataDir'>,
  now = Date.now(),
): Promise<ListStatus[]> => {
  const { sources } = readSourcesFile(config);
  const lists = sources.flatMap((source) => (source.kind === 'list' || source.kind === 'guard' ? [source] : []));
  return Promise.all(
    lists.map(async ({ id, kind, mode, url, file }) => {
      const state = await new ListCopy(config.dataDir, id).readState();
      const { entries = 0, refused = 0, rejected, overruled, checkedAt, lastError, lastErrorAt } = state ?? {};
      const ageSeconds = checkedAt === undefined ? undefined : Math.round((now - checkedAt) / 1_000);
      return {
        id,
        kind,
        mode,
        from: url === undefined ? file! : withoutSecrets(url),
        entries,
        refused,
        ...(rejected !== undefined && rejected.length > 0 && { rejected }),
        ...(kind === 'list' && overruled !== undefined && { overruled }),
        ageSeconds,
        lastError,
        lastErrorAt,
      };
    }),
  );
};
