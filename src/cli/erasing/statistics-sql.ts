import type { Pool } from 'pg';
import { pause } from '../../flow/time.js';
import { statement } from '../../postgres/statement.js';
import { inTransaction } from '../../postgres/transaction.js';
import { isTransient } from '../../postgres/transient-errors.js';

const MAX_ATTEMPTS = 20;
const RETRY_MS = 250;

/** The tables of the service. */
export const OWN_TABLES = statement(
  'statistics-tables',
  {},
  { name: 'text' },
  `
    select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('log', 'read', 'service') and c.relkind = 'r' order by 1`,
);

/**
 * The columns of a table of which the planner has statistics, with their types, including the collation. Only a superuser
 * may read `pg_statistic`, which the view shows to the owner of the table.
 */
export const COLUMNS_WITH_STATISTICS = statement(
  'statistics-columns',
  { table: 'text' },
  { column: 'text', type: 'text' },
  `
    select quote_ident(a.attname) as "column", format_type(a.atttypid, a.atttypmod)
        || coalesce(' collate ' || quote_ident(n.nspname) || '.' || quote_ident(c.collname), '') as type
    from pg_attribute a
    join pg_class t on t.oid = a.attrelid
    left join pg_collation c on c.oid = a.attcollation
    left join pg_namespace n on n.oid = c.collnamespace
    where a.attrelid = to_regclass(:table) and not a.attisdropped
      and exists (
        select from pg_stats s
        where s.schemaname = t.relnamespace::regnamespace::text and s.tablename = t.relname and s.attname = a.attname
      )
    order by a.attnum`,
);

/**
 * Makes the planner's statistics of all tables anew, because they quote values of rows that were erased. ANALYZE keeps
 * the statistics of a table that has become empty; setting the type of a column to the type it has removes them. The
 * collation is named, because it would otherwise become the default one, which changes indexes and breaks prepared
 * statements of running processes.
 * @throws the database's error, if a table stays locked for some seconds
 */
export const renewStatistics = async (pool: Pool): Promise<void> => {
  for (const { name } of await OWN_TABLES.run(pool, {}))
    for (let attempt = 1; ; attempt++)
      try {
        await renew(pool, name);
        break;
      } catch (error) {
        if (attempt === MAX_ATTEMPTS || !isTransient(error)) throw error;
        await pause(RETRY_MS);
      }
};

const renew = async (pool: Pool, table: string): Promise<void> => {
  await pool.query(`analyze ${table}`);
  const isEmpty = async (connection: Pick<Pool, 'query'>): Promise<boolean> =>
    (await connection.query(`select from ${table} limit 1`)).rowCount === 0;
  if (!(await isEmpty(pool)) || (await COLUMNS_WITH_STATISTICS.run(pool, { table })).length === 0) return;
  await inTransaction(
    pool,
    async (connection) => {
      await connection.query(`lock table ${table}`);
      // A table with rows is not rewritten under the lock; the next ANALYZE replaces its statistics.
      if (!(await isEmpty(connection))) {
        await connection.query(`analyze ${table}`);
        return;
      }
      const columns = await COLUMNS_WITH_STATISTICS.run(connection, { table });
      await connection.query(
        `alter table ${table} ${columns.map(({ column, type }) => `alter column ${column} type ${type}`).join(', ')}`,
      );
    },
    `begin; set local lock_timeout = 500`,
  );
};
