import type { Pool } from 'pg';
import { inTransaction } from '../postgres/transaction.js';

/** The tables of version 2.2 that this version does not have, and the projections that fill them. */
const TABLES = ['listed_records', 'brand_records', 'reviewed_entries', 'recording_clock'];
const PROJECTIONS = ['records'];

/**
 * Drops the tables of version 2.2, which processes of that version need during an upgrade or after a rollback. Called before
 * contents are removed from the read models, because these tables would keep them.
 */
export const dropPreviousTables = (pool: Pool): Promise<void> =>
  inTransaction(pool, async (connection) => {
    await connection.query(`drop table if exists ${TABLES.map((table) => `read.${table}`).join(', ')}`);
    for (const table of ['checkpoints', 'parked_events'])
      await connection.query(`delete from read.${table} where projection = any($1)`, [PROJECTIONS]);
  });
