import type { Pool } from 'pg';
import { statement } from './statement.js';

/** The database's clock, as an SQL expression. ms */
export const CLOCK = 'floor(extract(epoch from clock_timestamp()) * 1000)::bigint';

const READ_CLOCK = statement('clock-read', {}, { now: 'bigint' }, `select ${CLOCK} as now`);
const TIME_LIMIT_MS = 2_500;

/**
 * The time by the database's clock, in ms. Times that are stored and compared later come from this clock, because the
 * clocks of two machines may differ by any amount.
 */
export const databaseTime = async (pool: Pick<Pool, 'query'>): Promise<number> =>
  (await READ_CLOCK.run(pool, {}, TIME_LIMIT_MS))[0]!.now;
