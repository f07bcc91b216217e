import type { Pool } from 'pg';
import { columnsOf } from '../postgres/columns.js';
import { createReadModels } from './kysely.js';
import { ADD_REJECTIONS } from './statements.js';

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

/** If there are more rows, the oldest days are deleted. */
export const MAX_ROWS = 10_000;

/** Adds the rejections since the last call. */
export const addRejectedEvents = async (pool: Pool, rejected: readonly RejectedEvents[]): Promise<void> => {
  const columns = columnsOf(rejected, 'owner', 'day', 'keyId', 'reason', 'type', 'count', 'lastAt', 'sample');
  await ADD_REJECTIONS.run(pool, columns);
  const key = ['day', 'owner', 'key_id', 'reason', 'type'] as const;
  await createReadModels(pool)
    .deleteFrom('service.rejections')
    .where((eb) =>
      eb(
        eb.refTuple(...key),
        'in',
        eb
          .selectFrom('service.rejections')
          .select(key)
          .orderBy('day', 'desc')
          .orderBy('owner', 'desc')
          .orderBy('key_id', 'desc')
          .orderBy('reason', 'desc')
          .orderBy('type', 'desc')
          .offset(MAX_ROWS)
          .$asTuple(...key),
      ),
    )
    .execute();
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
