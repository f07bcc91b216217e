import type { AssetStatus } from '../events/types/verdicts.js';

/** Why a source or the whole check has its status. The API reference documents each reason. */
export const REASONS = [
  'not-found',
  'unsupported-type',
  'source-error',
  'timeout',
  'parent-domain',
  'hosting-domain',
  'external-source',
] as const;
export type Reason = (typeof REASONS)[number];

/** Why a check has no verdict. */
export const NO_VERDICT_CODES = ['parse-error', 'internal-scheme', 'internal-error'] as const;
export type NoVerdictCode = (typeof NO_VERDICT_CODES)[number];

/** Whether checks query a source. */
export const SOURCE_MODES = ['ENABLED', 'DISABLED'] as const;
export type SourceMode = (typeof SOURCE_MODES)[number];

/** The result of one source for one asset. */
export interface SourceResult {
  readonly status: AssetStatus;
  /** Present if the status is inherited, or is UNKNOWN for an enabled source. */
  readonly reason?: Reason;
  /** The matching entry, as the source wrote it. */
  readonly match?: string;
  /** The id of the guard because of which the matching BLOCKED entry has no effect. */
  readonly guardedBy?: string;
  /** True if the asset imitates the matching entry (a fuzzy match) instead of being equal to it. */
  readonly isImitation?: boolean;
  /**
   * The length of the host and path of the entry from which the status is inherited, in characters. A longer entry is
   * nearer to the asset. Absent if the source does not return the matching entry.
   */
  readonly matchedLength?: number;
  /** Since when the source has the status, in ms; absent if unknown. */
  readonly since?: number;
  /** Until when this source has the same result unless it learns something new, in ms; absent if there is no end. */
  readonly validUntil?: number;
}

export const NOT_FOUND: SourceResult = Object.freeze({ status: 'UNKNOWN', reason: 'not-found' });
export const UNSUPPORTED: SourceResult = Object.freeze({ status: 'UNKNOWN', reason: 'unsupported-type' });
export const FAILED: SourceResult = Object.freeze({ status: 'UNKNOWN', reason: 'source-error' });
export const TIMED_OUT: SourceResult = Object.freeze({ status: 'UNKNOWN', reason: 'timeout' });
/** The result of a disabled source. */
export const NOT_QUERIED: SourceResult = Object.freeze({ status: 'UNKNOWN' });

/** The result for an asset below a listed domain under which anybody can publish. */
export const hostingResult = (match?: string): SourceResult => ({ status: 'UNKNOWN', reason: 'hosting-domain', match });

/** Whether a source that supports the asset gave no answer. */
export const isUnanswered = ({ reason }: Pick<SourceResult, 'reason'>): boolean =>
  reason === 'source-error' || reason === 'timeout';

/** Whether the status is inherited from a parent domain, page or profile. */
export const isInherited = ({ reason }: SourceResult): boolean => reason === 'parent-domain';

/** A result, with the id, kind and mode of the source that returned the result. */
export interface AttributedResult {
  readonly source: string;
  readonly isOwn: boolean;
  readonly mode: SourceMode;
  readonly result: SourceResult;
}

/**
 * Whether the sources that gave no answer cannot change the verdict about an asset: an own exact status overrides every
 * other source.
 */
export const isFinal = (results: readonly AttributedResult[]): boolean =>
  results.some(({ isOwn, result }) => isOwn && result.status !== 'UNKNOWN' && !isInherited(result)) ||
  !results.some(({ result }) => isUnanswered(result));

interface Verdict {
  readonly status: AssetStatus;
  /** The source that determined the status; this service's own source if no source determined the status. */
  readonly source: string;
  readonly reason?: Reason;
}

const NO_RANK = Number.POSITIVE_INFINITY;

/**
 * Returns the precedence of a result; the result with the lowest rank determines the verdict. 0: own exact status. 1:
 * another source's exact BLOCKED. 2: own inherited status. 3: another source's exact ALLOWED. 4: another source's
 * inherited BLOCKED. 5: another source's inherited ALLOWED. A result with the status UNKNOWN has no rank.
 * @param blockedLength `matchedLength` of the nearest inherited BLOCKED of another source, which overrides an own
 *   ALLOWED with a shorter `matchedLength`
 */
const rankOf = ({ isOwn, result }: AttributedResult, blockedLength: number): number => {
  if (result.status === 'UNKNOWN') return NO_RANK;
  const inherited = isInherited(result);
  if (isOwn) {
    if (!inherited) return 0;
    return result.status === 'ALLOWED' && blockedLength > (result.matchedLength ?? 0) ? NO_RANK : 2;
  }
  if (result.status === 'BLOCKED') return inherited ? 4 : 1;
  return inherited ? 5 : 3;
};

const nearestBlocked = (results: readonly AttributedResult[]): number => {
  let nearest = -1;
  for (const { isOwn, mode, result } of results)
    if (!isOwn && mode === 'ENABLED' && result.status === 'BLOCKED' && isInherited(result))
      nearest = Math.max(nearest, result.matchedLength ?? -1);
  return nearest;
};

/**
 * @param results one per configured source, in the configured order; of two results with equal ranks, the first
 *   determines the verdict
 */
export const decide = (results: readonly AttributedResult[]): Verdict => {
  const blockedLength = nearestBlocked(results);
  let decider: AttributedResult | undefined;
  let lowest = NO_RANK;
  let enabled = 0;
  let unsupported = 0;
  let isHosted = false;
  let own = '';
  for (const candidate of results) {
    if (candidate.isOwn) own = candidate.source;
    if (candidate.mode === 'DISABLED') continue;
    enabled += 1;
    if (candidate.result.reason === 'unsupported-type') unsupported += 1;
    if (candidate.result.reason === 'hosting-domain') isHosted = true;
    const rank = rankOf(candidate, blockedLength);
    if (rank < lowest) {
      lowest = rank;
      decider = candidate;
    }
  }
  if (decider !== undefined) {
    const { source, result, isOwn } = decider;
    if (isInherited(result)) return { status: result.status, source, reason: 'parent-domain' };
    return isOwn ? { status: result.status, source } : { status: result.status, source, reason: 'external-source' };
  }
  if (enabled > 0 && unsupported === enabled) return { status: 'UNKNOWN', source: own, reason: 'unsupported-type' };
  return { status: 'UNKNOWN', source: own, reason: isHosted ? 'hosting-domain' : 'not-found' };
};

/** A verdict about a content, and the index of what the verdict is about. */
export interface ContentVerdict extends Verdict {
  readonly index: number;
  /** True if an ALLOWED status had no effect, because the content may open something that was not understood. */
  readonly isUncertain?: true;
}

/**
 * Decides a content that may open several assets. BLOCKED if anything is BLOCKED, ALLOWED only if all that the content
 * may open is understood and ALLOWED.
 * @param verdicts the verdicts of the asset, of its alternatives, then of its carriers, which can only block
 * @param alternatives the number of alternatives
 * @param isUncertain whether the content may open something that was not understood
 * @param own this service's own source
 */
export const decideContent = (
  verdicts: readonly Verdict[],
  alternatives: number,
  isUncertain: boolean,
  own: string,
): ContentVerdict => {
  const blocked = verdicts.findIndex(({ status }) => status === 'BLOCKED');
  const notAllowed = verdicts.findIndex(({ status }, index) => index <= alternatives && status !== 'ALLOWED');
  const index = blocked === -1 ? Math.max(0, notAllowed) : blocked;
  const { status, source, reason } = verdicts[index]!;
  return isUncertain && status === 'ALLOWED'
    ? { status: 'UNKNOWN', source: own, reason: 'not-found', index, isUncertain: true }
    : { status, source, reason, index };
};
