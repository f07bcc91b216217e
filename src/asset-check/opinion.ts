import type { AssetStatus } from '../events/asset-statuses.js';

/** Why a source, or the whole check, says what it says. The meaning of each is in the API reference. */
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

/** Why nothing was asked. */
export const CODES = ['parse-error', 'internal-scheme', 'internal-error'] as const;
export type Code = (typeof CODES)[number];

export const MODES = ['ENABLED', 'DISABLED'] as const;
export type Mode = (typeof MODES)[number];

/** What one source says of one asset. */
export interface Opinion {
  readonly status: AssetStatus;
  /** Given with UNKNOWN, and with a verdict that is inherited. */
  readonly reason?: Reason;
  /** The listed entry that hit, as its source wrote it. */
  readonly match?: string;
  /** The entry is not the asset: the asset looks like it. */
  readonly isImitation?: boolean;
  /**
   * How near an inherited entry lies: characters of the host, or of host and path, that it names, and more are nearer.
   * Absent where the source does not say which entry it was.
   */
  readonly place?: number;
  /** ms; since when, where the source knows. */
  readonly since?: number;
}

export const NOT_FOUND: Opinion = Object.freeze({ status: 'UNKNOWN', reason: 'not-found' });
export const UNSUPPORTED: Opinion = Object.freeze({ status: 'UNKNOWN', reason: 'unsupported-type' });
export const FAILED: Opinion = Object.freeze({ status: 'UNKNOWN', reason: 'source-error' });
export const TIMED_OUT: Opinion = Object.freeze({ status: 'UNKNOWN', reason: 'timeout' });
/** Said by nobody: the source was not asked. */
export const NOT_ASKED: Opinion = Object.freeze({ status: 'UNKNOWN' });

/** Whether the verdict comes from a domain, page or profile above what was asked. */
export const isInherited = ({ reason }: Opinion): boolean => reason === 'parent-domain';
