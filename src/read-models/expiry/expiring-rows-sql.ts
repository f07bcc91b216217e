import type { Pool } from 'pg';
import { pause } from '../../flow/retry.js';
import { nullable, statement } from '../../postgres/statement.js';
import { inTransaction } from '../../postgres/transaction.js';
import { isStatementTimeout } from '../../postgres/transient-errors.js';
import { INDEX_ORDER_SETTINGS } from '../pools.js';

/** Rows per statement. A statement takes milliseconds. */
const ROWS_PER_BATCH = 1_000;
/** The longest statement, in ms. After a longer one, the next batch has a tenth of the rows. */
const BATCH_LIMIT_MS = 2_000;
const COUNT_LIMIT_MS = 2_000;
/** Expired rows are counted up to this number. */
const MAX_COUNTED = 10_000;

const SETTINGS = Object.entries({ ...INDEX_ORDER_SETTINGS, statement_timeout: String(BATCH_LIMIT_MS) })
  .map(([name, value]) => `set local ${name} = ${value}`)
  .join('; ');

interface Declaration<Name extends string> {
  /** The plural noun for the rows, which is also the label of the metrics. */
  readonly name: Name;
  readonly table: string;
  /** Joins what decides whether a row `t` has expired: at most one row for each, found by an index. */
  readonly join?: string;
  /**
   * Whether a row `t` has expired, in SQL. Without `walk`, an index finds these rows: the clock is in a subquery, because
   * no index is used for a comparison with a volatile function.
   */
  readonly where: string;
  /**
   * The columns of a unique index, with their types and a value before the first. The table is then walked in the order
   * of this index, because no index finds the expired rows.
   */
  readonly walk?: Readonly<Record<string, readonly [type: string, first: string]>>;
}

/** Declares rows that expire, whichever organization they belong to. */
export const expiringRows = <const Name extends string>({ name, table, join = '', where, walk }: Declaration<Name>) => {
  const columns = Object.entries(walk ?? {});
  const named = columns.map(([column]) => `t.${column}`).join(', ');
  const page =
    walk === undefined
      ? `select t.ctid as id, true as expired, null::text[] as place, row_number() over () as nth
        from ${table} t ${join} where ${where} limit $1`
      : `select *, row_number() over () as nth from (
        select t.ctid as id, coalesce(${where}, false) as expired, array[${columns.map(([column]) => `t.${column}::text`).join(', ')}] as place
        from ${table} t ${join}
        where (${named}) > (${columns.map(([, [type]], n) => `($2::text[])[${n + 1}]::${type}`).join(', ')})
        order by ${named} limit $1
      ) walked`;
  const after = walk === undefined ? `$2::text[] is not null` : 'true';
  return {
    name,
    first: columns.map(([, [, first]]) => first),
    erase: statement(
      `expiry-erase-${name.replaceAll(' ', '-')}`,
      { limit: 'bigint', after: 'text[]' },
      { examined: 'bigint', deleted: 'bigint', last: nullable('text[]') },
      `
        with page as materialized (${page}), deleted as (
          delete from ${table} where ${after} and ctid = any(array(select id from page where expired)) returning 1
        )
        select (select count(*) from page) as examined, (select count(*) from deleted) as deleted,
          (select place from page order by nth desc limit 1) as last`,
    ),
    count: statement(
      `expiry-count-${name.replaceAll(' ', '-')}`,
      {},
      { rows: 'bigint' },
      `select count(*) as rows from (select from ${table} t ${join} where ${where} limit ${MAX_COUNTED}) expired`,
    ),
  };
};

export type ExpiringRows = ReturnType<typeof expiringRows>;

/** What one pass over expiring rows has done. */
export interface Pass {
  readonly deleted: number;
  /** Where the next pass continues; undefined if this pass has examined everything. */
  readonly next: readonly string[] | undefined;
}

/**
 * Deletes expired rows in small transactions, until all are deleted or the time is over. A pause after each transaction
 * leaves half of the time to the requests.
 * @param budgetMs the pass ends after the first transaction that exceeds this time
 * @param from where the previous pass ended
 * @throws the database's error; the rows of earlier batches have been deleted
 */
export const deleteExpired = async (
  pool: Pool,
  { first, erase }: ExpiringRows,
  budgetMs: number,
  from: readonly string[] = first,
  signal?: AbortSignal,
): Promise<Pass> => {
  const until = performance.now() + budgetMs;
  let limit = ROWS_PER_BATCH;
  let after = from;
  let deleted = 0;
  for (;;) {
    const startedAt = performance.now();
    try {
      const [batch] = await inTransaction(
        pool,
        (connection) => erase.run(connection, { limit, after }),
        `begin; ${SETTINGS}`,
      );
      deleted += batch!.deleted;
      if (batch!.examined < limit) return { deleted, next: undefined };
      after = batch!.last ?? after;
      limit = Math.min(ROWS_PER_BATCH, limit * 2);
    } catch (error) {
      if (!isStatementTimeout(error) || limit === 1) throw error;
      limit = Math.ceil(limit / 10);
    }
    if (performance.now() >= until || signal?.aborted === true) return { deleted, next: after };
    await pause(performance.now() - startedAt, signal);
  }
};

/**
 * Counts expired rows, to at most 10,000.
 * @throws the database's error
 */
export const countExpired = async (pool: Pool, { count }: ExpiringRows): Promise<number> =>
  (await count.run(pool, {}, COUNT_LIMIT_MS))[0]!.rows;
