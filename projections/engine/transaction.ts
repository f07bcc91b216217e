import type { Pool, PoolClient } from 'pg';
import { inTransaction } from '../../src/postgres/transaction.js';

/** A transaction of a projector: the rows and the checkpoint of one batch. */
export interface ProjectorTransaction {
  readonly connection: PoolClient;
}

/**
 * Batches access rows by key, whatever the planner assumes about tables it last saw empty: each statement is planned
 * for the current batch and table sizes, and never scans a whole table.
 */
const SETTINGS = [
  'synchronous_commit = off',
  'plan_cache_mode = force_custom_plan',
  'enable_seqscan = off',
  'enable_hashjoin = off',
  'enable_mergejoin = off',
  'enable_material = off',
  // Disabled plan nodes count as very expensive, and expensive statements would be JIT-compiled.
  'jit = off',
].map((setting) => `set local ${setting}`);

/** Statement timeout: a transaction writes so few facts that statements take milliseconds. */
export const STATEMENT_LIMIT_MS = 15_000;

/** What a transaction may take; ms. */
interface Limits {
  /** A statement of it. A rebuild must not wait forever for one event either. */
  readonly statementMs?: number;
  /** The time between two statements; absent: as long as the connection says. */
  readonly idleMs?: number;
}

/**
 * Runs `work` in one transaction with `schema` as its search path. The commit does not wait for the disk: rows and
 * checkpoint are lost together, and the log has the events.
 */
export const transact = <Result>(
  pool: Pool,
  schema: string,
  work: (transaction: ProjectorTransaction) => Promise<Result>,
  { statementMs = STATEMENT_LIMIT_MS, idleMs }: Limits = {},
): Promise<Result> => {
  const limits = [
    `set local statement_timeout = ${statementMs}`,
    ...(idleMs === undefined ? [] : [`set local idle_in_transaction_session_timeout = ${idleMs}`]),
  ];
  const begin = ['begin', ...limits, `set local search_path = "${schema}"`, ...SETTINGS].join('; ');
  return inTransaction(pool, (connection) => work({ connection }), begin);
};
