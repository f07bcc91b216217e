import type { Pool } from 'pg';
import { statement } from '../postgres/statement.js';
import { inTransaction } from '../postgres/transaction.js';

/** The tables of version 2.2 that this version does not have. */
const TABLES = ['listed_records', 'brand_records', 'reviewed_entries', 'recording_clock'];
/** The projections that fill them, which `register` replaces. */
export const PREVIOUS_PROJECTIONS: readonly string[] = ['records'];

export const DELETE_PREVIOUS_CHECKPOINTS = statement(
  'previous-version-delete-checkpoints',
  { projections: 'text[]' },
  'delete from read.checkpoints where projection = any(:projections)',
);
export const DELETE_PREVIOUS_PARKED = statement(
  'previous-version-delete-parked',
  { projections: 'text[]' },
  'delete from read.parked_events where projection = any(:projections)',
);

/**
 * Drops the tables of version 2.2, which processes of that version need during an upgrade or after a rollback. Called before
 * contents are removed from the read models, because these tables would keep them.
 */
export const dropPreviousTables = (pool: Pool): Promise<void> =>
  inTransaction(pool, async (connection) => {
    for (const table of TABLES) await connection.query(`drop table if exists read."${table}"`);
    await DELETE_PREVIOUS_CHECKPOINTS.run(connection, { projections: PREVIOUS_PROJECTIONS });
    await DELETE_PREVIOUS_PARKED.run(connection, { projections: PREVIOUS_PROJECTIONS });
  });
