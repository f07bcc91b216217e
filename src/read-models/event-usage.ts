import type { Pool } from 'pg';
import { columnsOf } from '../postgres/columns.js';
import { ADD_EVENT_USAGE, DELETE_OLD_EVENT_USAGE } from './statements.js';

export const OUTCOMES = ['accepted', 'duplicate', 'rejected'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/**
 * How many events of one owner, UTC day, type and outcome were received. The log does not contain rejected events and
 * duplicates.
 */
export interface EventUsage {
  /** An organization, or the id of a key that belongs to no organization. */
  readonly owner: string;
  /** Days since 1970. */
  readonly day: number;
  /** An upstream type, or `other`. */
  readonly type: string;
  readonly outcome: Outcome;
  readonly events: number;
}

/** Number of days that are kept, including today. */
export const KEPT_DAYS = 90;

/** Adds the counts since the last call. */
export const addEventUsage = async (pool: Pool, used: readonly EventUsage[]): Promise<void> => {
  await ADD_EVENT_USAGE.run(pool, columnsOf(used, 'owner', 'day', 'type', 'outcome', 'events'));
};

/** Deletes usage that is older than `KEPT_DAYS`, by the database's clock. */
export const deleteOldEventUsage = async (pool: Pool): Promise<void> => {
  await DELETE_OLD_EVENT_USAGE.run(pool, { keptDays: KEPT_DAYS });
};
