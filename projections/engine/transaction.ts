import type { Pool, PoolClient } from 'pg';
import { inTransaction } from '../../src/postgres/transaction.js';

/**
 * An open transaction that writes the rows of one batch. The projector also moves its checkpoints in this transaction;
 * a rebuild does not.
 */
export interface ProjectorTransaction {
  readonly connection: PoolClient;
}

/**
 * Settings that force plans that access rows by key, because the planner's statistics may date from when the tables
 * were empty. Each statement is planned for the current batch, without scans of whole tables.
 */
const SETTINGS = [
  'synchronous_commit = off',
  'plan_cache_mode = force_custom_plan',
  'enable_seqscan = off',
  'enable_hashjoin = off',
  'enable_mergejoin = off',
  'enable_material = off',
  // Disabled plan nodes have very high costs, which would trigger JIT compilation.
  'jit = off',
].map((setting) => `set local ${setting}`);

/** Default statement timeout. Statements usually take milliseconds, because the size of a batch is limited. */
export const STATEMENT_TIMEOUT_MS = 15_000;

/** Timeouts of a transaction. */
interface Timeouts {
  /** Statement timeout. */
  readonly statementMs?: number;
  /** Maximum time between two statements. Default: the setting of the connection. */
  readonly idleMs?: number;
}

/**
 * Runs `work` in one transaction with `schema` as its search path. The commit does not wait for the disk. A crash can
 * only lose rows together with their checkpoint, and the events are still in the log.
 */
export const transact = <Result>(
  pool: Pool,
  schema: string,
  work: (transaction: ProjectorTransaction) => Promise<Result>,
  { statementMs = STATEMENT_TIMEOUT_MS, idleMs }: Timeouts = {},
): Promise<Result> => {
  const timeouts = [
    `set local statement_timeout = ${statementMs}`,
    ...(idleMs === undefined ? [] : [`set local idle_in_transaction_session_timeout = ${idleMs}`]),
  ];
  const begin = ['begin', ...timeouts, `set local search_path = "${schema}"`, ...SETTINGS].join('; ');
  return inTransaction(pool, (connection) => work({ connection }), begin);
};
