import type { Pool } from 'pg';

/** Locks the tables while `work` runs, so that every other statement on them waits. */
export const whileLocked = async (pool: Pool, tables: readonly string[], work: () => Promise<void>): Promise<void> => {
  const connection = await pool.connect();
  try {
    await connection.query(`begin; lock table ${tables.join(', ')} in access exclusive mode`);
    await work();
  } finally {
    // A rollback would fail if the server has ended the transaction, and its error would hide why `work` took so long.
    connection.release(true);
  }
};
