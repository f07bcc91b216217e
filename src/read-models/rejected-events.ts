import type { Pool } from 'pg';
import { createReadModels } from './kysely.js';
import { ADD_REJECTIONS, DELETE_EXCESS_REJECTIONS } from './statements.js';

/** An example of the rejected events. */
export interface RejectedSample {
  /** The attributes as they were sent, truncated. */
  readonly id: string | null;
  readonly source: string;
  readonly type: string;
  readonly issues: readonly string[];
  /** The data as JSON, truncated. Truncated data is not valid JSON. */
  readonly data: string | null;
}

/**
 * How many events of one owner, UTC day, key, reason and type were rejected. The log does not contain rejected events.
 */
export interface RejectedEvents {
  /** An organization, or the id of a key that belongs to no organization. */
  readonly owner: string;
  /** Days since 1970. */
  readonly day: number;
  readonly keyId: string;
  readonly reason: string;
  /** An upstream type, or `other`. */
  readonly type: string;
  readonly count: number;
  /** ms */
  readonly lastAt: number;
  /** The first rejected event. */
  readonly sample: RejectedSample;
}

/** If there are more rows, the owners with the most rows lose their oldest rows. */
export const MAX_ROWS = 10_000;

/** Adds the rejections since the last call. */
export const addRejectedEvents = async (pool: Pool, rejected: readonly RejectedEvents[]): Promise<void> => {
  await ADD_REJECTIONS.runEach(pool, rejected);
  await DELETE_EXCESS_REJECTIONS.run(pool, { keptRows: MAX_ROWS });
};

/** Lists rejections, newest first. */
export const listRejectedEvents = (pool: Pool): Promise<RejectedEvents[]> =>
  createReadModels(pool)
    .selectFrom('service.rejections')
    .select(['owner', 'day', 'key_id as keyId', 'reason', 'type', 'count', 'last_at as lastAt', 'sample'])
    .$narrowType<{ sample: RejectedSample }>()
    .orderBy('day', 'desc')
    .orderBy('last_at', 'desc')
    .orderBy('key_id')
    .orderBy('reason')
    .orderBy('type')
    .limit(MAX_ROWS)
    .execute();

/** Deletes all rejections. @returns the number of deleted rows */
export const clearRejectedEvents = async (pool: Pool): Promise<number> =>
  Number((await createReadModels(pool).deleteFrom('service.rejections').executeTakeFirstOrThrow()).numDeletedRows);
