import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import type { Pool } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';

/** Sends rows by PostgreSQL's bulk load. */
export const copyRows = async (pool: Pool, into: string, lines: string): Promise<void> => {
  const connection = await pool.connect();
  try {
    await pipeline(
      Readable.from([lines], { objectMode: false }),
      connection.query(copyFrom(`copy ${into} from stdin`)),
    );
  } finally {
    connection.release();
  }
};
