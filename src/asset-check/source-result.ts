import type { AssetStatus } from '../events/types/asset-statuses.js';

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
