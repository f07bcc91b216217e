import type { Pool } from 'pg';
import { columnsOf } from '../postgres/columns.js';
import { ADD_EVENT_USAGE, FORGET_EVENT_USAGE } from './statements.js';

export const OUTCOMES = ['accepted', 'duplicate', 'rejected'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Events of one owner, UTC day, type and outcome. Not derived from the log, which does not know what was sent twice. */
export interface EventUsage {
  /** An organization, or a key that has none. */
  readonly owner: string;
  /** Days since 1970. */
  readonly day: number;
  /** An upstream type, or `other`. */
  readonly type: string;
  readonly outcome: Outcome;
  readonly events: number;
}

/** Today included. */
export const KEPT_DAYS = 90;

/** Adds the counts since the last call. */
export const addEventUsage = async (pool: Pool, used: readonly EventUsage[]): Promise<void> => {
  await ADD_EVENT_USAGE.run(pool, columnsOf(used, 'owner', 'day', 'type', 'outcome', 'events'));
};

/** Drops what is older than the kept days, by the database's clock. */
export const forgetEventUsage = async (pool: Pool): Promise<void> => {
  await FORGET_EVENT_USAGE.run(pool, { keptDays: KEPT_DAYS });
};
