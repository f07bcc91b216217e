import type { Pool, PoolClient } from 'pg';
import { inTransaction } from '../../postgres/transaction.js';
import { pause } from '../../flow/retry.js';

/** Positions per transaction. A transaction takes tens of milliseconds, and no append waits for it. */
const POSITIONS_PER_BATCH = 1_000;

/**
 * Processes the log in PostgreSQL in small transactions, to search it or to rewrite events in place. A pause after each
 * transaction leaves half of the time to the requests.
 * @param from the first position
 * @param to the position after the last one
 * @param process processes the events from a position to another, without the latter; what it rewrites, it also records
 *   in this transaction, so that a call that was killed can continue
 */
export const forEachBatch = async (
  pool: Pool,
  { from, to }: { readonly from: number; readonly to: number },
  process: (connection: PoolClient, from: number, to: number) => Promise<void>,
  onProgress: (position: number) => void = () => {},
): Promise<void> => {
  for (let position = from; position < to;) {
    const next = Math.min(position + POSITIONS_PER_BATCH, to);
    const startedAt = performance.now();
    await inTransaction(pool, (connection) => process(connection, position, next));
    await pause(performance.now() - startedAt);
    position = next;
    onProgress(position);
  }
};
