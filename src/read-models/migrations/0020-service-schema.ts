import { sql, type Kysely } from 'kysely';

/** The tables in `read` that the log does not hold: where deliveries are, and what requests leave behind. */
const TABLES = [
  'webhook_progress',
  'webhook_attempts',
  'webhook_outcomes',
  'webhook_tests',
  'ingest_usage',
  'event_usage',
  'rejections',
  'rejected_events',
  'key_uses',
] as const;

const moveTable = async (db: Kysely<unknown>, table: (typeof TABLES)[number]): Promise<void> => {
  const [old, moved] = [sql.id('read', table), sql.id('service', table)];
  const { rows } = await sql<{ is_table: boolean; is_moved: boolean }>`
    select exists (select from pg_tables where schemaname = 'read' and tablename = ${table}) as is_table,
      exists (select from pg_tables where schemaname = 'service' and tablename = ${table}) as is_moved`.execute(db);
  const { is_table, is_moved } = rows[0]!;
  if (!is_table) return;
  if (is_moved) {
    // `read` was dropped, and the migrations before this one have just made the table again. It has rows only if an
    // earlier version has worked on it since.
    const { rows: shared } = await sql<{ column_name: string }>`
      select column_name from information_schema.columns where table_schema = 'read' and table_name = ${table}
      intersect
      select column_name from information_schema.columns where table_schema = 'service' and table_name = ${table}
      `.execute(db);
    const columns = sql.join(shared.map(({ column_name: column }) => sql.id(column)));
    await sql`insert into ${moved} (${columns}) select ${columns} from ${old} on conflict do nothing`.execute(db);
    await sql`drop table ${old}`.execute(db);
  } else await sql`alter table ${old} set schema service`.execute(db);
  await sql`create view ${old} as select * from ${moved}`.execute(db);
};

/**
 * Moves what cannot be rebuilt from the log to a schema of its own, so that `read` can be dropped at any time. Versions
 * before this one go on reading and writing the views of the same names; the version that no longer runs beside one of
 * those drops the views and `rejected_events`.
 *
 * The other tables stay. All rows of `parked_events` and `checkpoints` come back from the log. A lease expires within
 * seconds, and guards tables that are dropped with it. `migrations` and `later_migrations` must go with the tables that
 * they describe.
 *
 * A later migration may change the tables of `service` in place. Once `read` has been dropped it runs on tables that it
 * has changed already, as this one does: it must say `add column if not exists`, `drop … if exists` and the like, and
 * update only rows that need it. Columns that it adds need no place in a view, because only earlier versions use those.
 */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  // A role that owns the schema, but may not create any, is refused even `create schema if not exists`.
  const { rows } = await sql`select from pg_namespace where nspname = 'service'`.execute(db);
  if (rows.length === 0) await sql`create schema service`.execute(db);
  for (const table of TABLES) await moveTable(db, table);
};
