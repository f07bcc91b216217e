import type { Pool, PoolClient } from 'pg';
import { pause, retry } from '../../flow/retry.js';
import { inTransaction } from '../../postgres/transaction.js';
import { isTransient } from '../../postgres/transient-errors.js';
import { LOCK_CHECKPOINTS, ROW_STEPS, SHADOW_SCHEMAS } from '../../read-models/erasures/statements.js';
import type { Counts, ErasureProgress } from './find-organization.js';
import { recordBatch } from './record-batch.js';
import type { Subject } from './subject.js';

/** Rows per transaction. */
const ROWS_PER_BATCH = 2_000;
/**
 * Follows the indexes that begin with the organization: a sequential scan would pass all rows that the earlier batches
 * have deleted. A table without such an index is still scanned, which must not look expensive enough to be compiled.
 */
const BY_INDEX = 'begin; set local enable_seqscan = off; set local enable_bitmapscan = off; set local jit = off';
const RETRY_MS = 100;
const MAX_ATTEMPTS = 10;

/** Drops the tables of rebuilds and verifications in progress, which may have read events before they were rewritten. */
export const dropShadowTables = async (pool: Pool): Promise<void> => {
  for (const { name } of await SHADOW_SCHEMAS.run(pool, {}))
    await retrying(() => pool.query(`drop schema if exists "${name}" cascade`));
};

/** Retries a statement that a lock of another process made fail. */
const retrying = <Result>(work: () => Promise<Result>): Promise<Result> => {
  let failures = 0;
  return retry(work, (error) => ((failures += 1) < MAX_ATTEMPTS && isTransient(error) ? RETRY_MS : undefined));
};

/**
 * Erases the rows of an organization.
 * @returns the number of deleted or changed rows by table
 */
export const eraseRows = async (
  pool: Pool,
  { organization, digest }: Subject,
  onProgress: (progress: ErasureProgress) => void,
): Promise<Counts> => {
  const counts: Record<string, number> = {};
  let done = 0;
  for (const { table, isShared, erase } of ROW_STEPS)
    for (;;) {
      const startedAt = performance.now();
      const eraseBatch = async (connection: PoolClient): Promise<number> => {
        await LOCK_CHECKPOINTS.run(connection, {});
        const [erased] = await erase.run(connection, { organization, limit: ROWS_PER_BATCH });
        await recordBatch(connection, digest, { rows: erased!.rows === 0 ? {} : { [table]: erased!.rows } });
        return erased!.rows;
      };
      const rows = await retrying(() => inTransaction(pool, eraseBatch, isShared ? 'begin' : BY_INDEX));
      if (rows === 0) break;
      done += rows;
      counts[table] = (counts[table] ?? 0) + rows;
      onProgress({ phase: 'rows', done, fraction: undefined });
      await pause(performance.now() - startedAt);
    }
  return counts;
};
