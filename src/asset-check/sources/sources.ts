import type { ParsedContent } from '../../assets/parsed-content.js';
import { FAILED, type SourceMode, type SourceResult, NOT_QUERIED } from '../source-result.js';
import type { AttributedResult } from '../verdict.js';
import { lookupText } from '../lists/match-list.js';
import type { ListSource } from '../lists/list-source.js';
import type { LookupBudget, LookupSource } from '../lookups/lookup-source.js';
import type { OwnStatuses } from '../own/own-statuses.js';
import type { SuffixHashes } from '../lists/suffix-hashes.js';

/** One configured source. */
export interface Source {
  readonly id: string;
  readonly mode: SourceMode;
  readonly appeal?: string;
  readonly of:
    | { readonly kind: 'own'; readonly statuses: OwnStatuses }
    | { readonly kind: 'list'; readonly list: ListSource }
    | { readonly kind: 'http'; readonly lookUp: LookupSource };
}

/** The input of a query to the sources. */
export interface SourceQuery {
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
