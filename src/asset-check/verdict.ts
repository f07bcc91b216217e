import type { AssetStatus } from '../events/types/asset-statuses.js';
import { isInherited, type Mode, type Opinion, type Reason } from './opinion.js';

/** What a source says, and how much it counts. */
export interface SourceOpinion {
  readonly source: string;
  readonly isOwn: boolean;
  readonly mode: Mode;
  readonly opinion: Opinion;
}

export interface Verdict {
  readonly status: AssetStatus;
  /** The source that decided; our own if none did. */
  readonly source: string;
  readonly reason?: Reason;
}

const NONE = Number.POSITIVE_INFINITY;

/**
 * Lower decides. 0 own exact status, 1 another source's exact BLOCKED, 2 own inherited status, 3 another source's exact
 * ALLOWED, 4 another source's inherited BLOCKED, 5 another source's inherited ALLOWED. UNKNOWN never counts.
 * @param blockedPlace of the nearest inherited BLOCKED of another source, which beats an own ALLOWED inherited from
 *   farther away
 */
const rankOf = ({ isOwn, opinion }: SourceOpinion, blockedPlace: number): number => {
  if (opinion.status === 'UNKNOWN') return NONE;
  const inherited = isInherited(opinion);
  if (isOwn) {
    if (!inherited) return 0;
    return opinion.status === 'ALLOWED' && blockedPlace > (opinion.place ?? 0) ? NONE : 2;
  }
  if (opinion.status === 'BLOCKED') return inherited ? 4 : 1;
  return inherited ? 5 : 3;
};

const nearestBlocked = (opinions: readonly SourceOpinion[]): number => {
  let nearest = -1;
  for (const { isOwn, mode, opinion } of opinions)
    if (!isOwn && mode === 'ENABLED' && opinion.status === 'BLOCKED' && isInherited(opinion))
      nearest = Math.max(nearest, opinion.place ?? -1);
  return nearest;
};

/** @param opinions every configured source in configured order, which breaks ties */
export const decide = (opinions: readonly SourceOpinion[]): Verdict => {
  const blockedPlace = nearestBlocked(opinions);
  let decider: SourceOpinion | undefined;
  let lowest = NONE;
  let enabled = 0;
  let unsupported = 0;
  let hosted = false;
  let own = '';
  for (const candidate of opinions) {
    if (candidate.isOwn) own = candidate.source;
    if (candidate.mode === 'DISABLED') continue;
    enabled += 1;
    if (candidate.opinion.reason === 'unsupported-type') unsupported += 1;
    if (candidate.opinion.reason === 'hosting-domain') hosted = true;
    const rank = rankOf(candidate, blockedPlace);
    if (rank < lowest) {
      lowest = rank;
      decider = candidate;
    }
  }
  if (decider !== undefined) {
    const { source, opinion, isOwn } = decider;
    if (isInherited(opinion)) return { status: opinion.status, source, reason: 'parent-domain' };
    return isOwn ? { status: opinion.status, source } : { status: opinion.status, source, reason: 'external-source' };
  }
  if (enabled > 0 && unsupported === enabled) return { status: 'UNKNOWN', source: own, reason: 'unsupported-type' };
  return { status: 'UNKNOWN', source: own, reason: hosted ? 'hosting-domain' : 'not-found' };
};

/** Which of the verdicts counts, of the asset first and of its carriers after it: a carrier only ever blocks. */
export const decidingIndex = (verdicts: readonly Verdict[]): number =>
  Math.max(
    0,
    verdicts.findIndex(({ status }) => status === 'BLOCKED'),
  );
