import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import type { Pool } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { Slice } from './paired.js';

/** Rows per COPY. Each COPY is one transaction. */
const ROWS = 10_000;

/**
 * Inserts rows with `COPY`.
 * @param into the table, and its columns in parentheses unless the lines have all of them
 */
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

/** A slice that copies lines in transactions of 10,000. Empties the table and starts over when few lines are left. */
export const copying = (pool: Pool, into: string, lines: readonly string[]): Slice => {
  let next = 0;
  return async (ms) => {
    if (next > (lines.length * 2) / 3) {
      await pool.query(`truncate ${into.split(' ', 1)[0]}`);
      next = 0;
    }
    const before = next;
    const from = performance.now();
    while (performance.now() - from < ms && next < lines.length) {
      await copyRows(pool, into, lines.slice(next, next + ROWS).join(''));
      next += ROWS;
    }
    return ((next - before) * 1000) / (performance.now() - from);
  };
};
