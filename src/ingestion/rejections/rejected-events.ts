import type { Pool } from 'pg';
import { createReadModels } from '../../read-models/kysely.js';
import { ADD_REJECTIONS, DELETE_EXCESS_REJECTIONS, type RejectedEvents } from './statements.js';

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
    .$narrowType<Pick<RejectedEvents, 'reason' | 'sample'>>()
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
