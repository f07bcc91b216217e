import type { Pool } from 'pg';
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

/** What was refused of a key on a UTC day for a reason. Not counted from the log, which has none of it. */
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

/** Adds what was refused since the last call. */
export const addRejectedEvents = async (pool: Pool, rejected: readonly RejectedEvents[]): Promise<void> => {
  await pool.query({
    ...ADD_REJECTED_EVENTS,
    values: [
      rejected.map(({ day }) => day),
      rejected.map(({ keyId }) => keyId),
      rejected.map(({ reason }) => reason),
      rejected.map(({ count }) => count),
      rejected.map(({ lastAt }) => lastAt),
      rejected.map(({ sample }) => JSON.stringify(sample)),
    ],
  });
  await pool.query(
    `delete from read.rejected_events where (day, key_id, reason) in
       (select day, key_id, reason from read.rejected_events order by day desc, key_id, reason offset $1)`,
    [MAX_ROWS],
  );
};

/** The newest first. */
export const listRejectedEvents = async (pool: Pool): Promise<RejectedEvents[]> => {
  const { rows } = await pool.query<RejectedEvents>(
    `select day, key_id as "keyId", reason, count, last_at as "lastAt", sample
     from read.rejected_events order by day desc, last_at desc, key_id, reason limit $1`,
    [MAX_ROWS],
  );
  return rows;
};

/** @returns how many rows there were */
export const clearRejectedEvents = async (pool: Pool): Promise<number> =>
  (await pool.query('delete from read.rejected_events')).rowCount ?? 0;
