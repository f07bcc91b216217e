import type { Pool } from 'pg';

/** Holds these tables, so that every statement on them waits, while `work` is done. */
export const whileLocked = async (pool: Pool, tables: readonly string[], work: () => Promise<void>): Promise<void> => {
  const connection = await pool.connect();
  try {
    await connection.query(`begin; lock table ${tables.join(', ')} in access exclusive mode`);
    await work();
  } finally {
    // A rollback would fail if the server has ended the transaction meanwhile, and hide why `work` took so long.
    connection.release(true);
  }
};
