import type { AssetStatus } from '../events/types/asset-statuses.js';

/** Why a source, or the whole check, says what it says; documented in the API reference. */
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

/** Why no source was queried. */
export const CODES = ['parse-error', 'internal-scheme', 'internal-error'] as const;
export type Code = (typeof CODES)[number];

export const MODES = ['ENABLED', 'DISABLED'] as const;
export type Mode = (typeof MODES)[number];

/** What one source says about one asset. */
export interface Opinion {
  readonly status: AssetStatus;
  /** Present with UNKNOWN and with an inherited verdict. */
  readonly reason?: Reason;
  /** The matching entry, as the source wrote it. */
  readonly match?: string;
  /** The asset imitates the entry rather than being it. */
  readonly isImitation?: boolean;
  /**
   * How near an inherited entry is: the number of characters of host and path that it names; higher is nearer. Absent
   * if the source does not say which entry matched.
   */
  readonly place?: number;
  /** ms; since when, if the source knows. */
  readonly since?: number;
}

export const NOT_FOUND: Opinion = Object.freeze({ status: 'UNKNOWN', reason: 'not-found' });
export const UNSUPPORTED: Opinion = Object.freeze({ status: 'UNKNOWN', reason: 'unsupported-type' });
export const FAILED: Opinion = Object.freeze({ status: 'UNKNOWN', reason: 'source-error' });
export const TIMED_OUT: Opinion = Object.freeze({ status: 'UNKNOWN', reason: 'timeout' });
/** The source is disabled. */
export const NOT_ASKED: Opinion = Object.freeze({ status: 'UNKNOWN' });

/** Of an asset below an entry for a domain where anybody can publish. */
export const hosted = (match?: string): Opinion => ({ status: 'UNKNOWN', reason: 'hosting-domain', match });

/** Whether the verdict comes from a domain, page or profile above the asset. */
export const isInherited = ({ reason }: Opinion): boolean => reason === 'parent-domain';
