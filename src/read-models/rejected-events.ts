import type { Pool } from 'pg';
import { columnsOf } from '../postgres/columns.js';
import { createReadModels } from './kysely.js';
import { ADD_REJECTED_EVENTS } from './statements.js';

/** One of the events that were refused. */
export interface RejectedSample {
  /** As they were sent, cut. */
  readonly id: string | null;
  readonly source: string;
  readonly type: string;
  readonly issues: readonly string[];
  /** JSON, cut; not JSON any more where it was. */
  readonly data: string | null;
}

/** Rejections by key, UTC day and reason. Not derived from the log, which does not have them. */
export interface RejectedEvents {
  /** Days since 1970. */
  readonly day: number;
  readonly keyId: string;
  readonly reason: string;
  readonly count: number;
  /** ms */
  readonly lastAt: number;
  /** The first of them. */
  readonly sample: RejectedSample;
}

/** The oldest days go first. */
export const MAX_ROWS = 10_000;

/** Adds the rejections since the last call. */
export const addRejectedEvents = async (pool: Pool, rejected: readonly RejectedEvents[]): Promise<void> => {
  const values = columnsOf(rejected, 'day', 'keyId', 'reason', 'count', 'lastAt', 'sample');
  await pool.query({ ...ADD_REJECTED_EVENTS, values });
  const key = ['day', 'key_id', 'reason'] as const;
  await createReadModels(pool)
    .deleteFrom('rejected_events')
    .where((eb) =>
      eb(
        eb.refTuple(...key),
        'in',
        eb
          .selectFrom('rejected_events')
          .select(key)
          .orderBy('day', 'desc')
          .orderBy('key_id')
          .orderBy('reason')
          .offset(MAX_ROWS)
          .$asTuple(...key),
      ),
    )
    .execute();
};

/** The newest first. */
export const listRejectedEvents = (pool: Pool): Promise<RejectedEvents[]> =>
  createReadModels(pool)
    .selectFrom('rejected_events')
    .select(['day', 'key_id as keyId', 'reason', 'count', 'last_at as lastAt', 'sample'])
    .$narrowType<{ sample: RejectedSample }>()
    .orderBy('day', 'desc')
    .orderBy('last_at', 'desc')
    .orderBy('key_id')
    .orderBy('reason')
    .limit(MAX_ROWS)
    .execute();

/** @returns how many rows there were */
export const clearRejectedEvents = async (pool: Pool): Promise<number> =>
  Number((await createReadModels(pool).deleteFrom('rejected_events').executeTakeFirstOrThrow()).numDeletedRows);
