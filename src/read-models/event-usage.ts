import type { Pool } from 'pg';
import { columnsOf } from '../postgres/columns.js';
import { createReadModels } from './kysely.js';
import { ADD_EVENT_USAGE } from './statements.js';

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

/** @param today days since 1970; what is older than the kept days is dropped */
export const forgetEventUsage = async (pool: Pool, today: number): Promise<void> => {
  await createReadModels(pool)
    .deleteFrom('service.event_usage')
    .where('day', '<=', today - KEPT_DAYS)
    .execute();
};
