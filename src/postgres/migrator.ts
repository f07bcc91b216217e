import { setTimeout as sleep } from 'node:timers/promises';
import { Kysely, type Migration, PostgresDialect, sql } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import { ConfigError } from '../runtime/config.js';
import { LOCK_IF_FREE } from './statement.js';
import { inTransaction, kyselyOver } from './transaction.js';

/**
 * A numbered migration of a schema. Processes of earlier versions ignore the migration, unless the migration names a
 * minimal version.
 */
export interface NumberedMigration extends Partial<Pick<Migration, 'up'>> {
  /**
   * Statements for tables that are large and read meanwhile, each committed before the next one, then `up`. So an index
   * is created without the lock of the statement that added its column. Each statement must be able to run twice.
   */
  readonly statements?: readonly string[];
  /**
   * The oldest version that still works after the migration. Set if the migration removes or changes something that
   * earlier versions use.
   */
  readonly minimalVersion?: {
    /** The migration that added the replacement. A process that does not know this migration must not start. */
    readonly knows: string;
    /** The first version that knows this migration, for the error message. */
    readonly version: string;
  };
}

/** The migrations of one schema, by name. */
type Steps = Readonly<Record<string, NumberedMigration>>;

/** The tables that record which migrations have been applied. */
interface Records {
  migrations: { name: string; timestamp: string };
  later_migrations: { name: string; applied_at: string; must_know: string | null; minimal_version: string | null };
}

/**
 * The last migration of each schema that is recorded in the table `migrations`. Version 2.0.0 and later versions without
 * `later_migrations` refuse to start if `migrations` names a migration that they do not know, so newer migrations are
 * recorded in `later_migrations` only.
 */
const LAST_IN_FIRST_TABLE: Readonly<Record<string, string>> = {
  log: '0001-first-tables',
  read: '0012-members-and-reviews',
};

/** The advisory lock of Kysely's migrator, which versions without `later_migrations` use. */
const LOCK = '3853314791062309107';
/** How often a process checks whether another process has finished migrating. */
const POLL_INTERVAL_MS = 100;
/** How long a process waits before it reports that it waits. Processes often start together. */
const REPORT_AFTER_MS = 2_000;
/**
 * How long a migration may wait for the lock of a table. While the migration waits, later statements on the table wait
 * too, so this is less than a request may wait for a lock.
 */
const TABLE_LOCK_TIMEOUT_MS = 1_500;
/** The longest timer of Node, used instead of no timeout, because `pg` replaces 0 by the timeout of the pool. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

const createRecords = async (db: Kysely<Records>, schema: string): Promise<void> => {
  // The schema is looked up in the catalogs for two reasons. A role that owns the schema but may not create schemas is
  // denied even `create schema if not exists`. Also, `to_regnamespace` may still report a schema as missing after
  // another process has created it.
  const { rows } = await sql<{ has_schema: boolean; has_records: boolean }>`
    select exists (select from pg_namespace where nspname = ${schema}) as has_schema,
      exists (select from pg_tables where schemaname = ${schema} and tablename = 'later_migrations') as has_records
    `.execute(db);
  const { has_schema, has_records } = rows[0]!;
  if (has_records) return;
  if (!has_schema) await db.schema.createSchema(schema).execute();
  const at = db.schema.withSchema(schema);
  await at
    .createTable('migrations')
    .ifNotExists()
    .addColumn('name', 'varchar(255)', (column) => column.primaryKey())
    .addColumn('timestamp', 'varchar(255)', (column) => column.notNull())
    .execute();
  await at
    .createTable('later_migrations')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('applied_at', 'text', (column) => column.notNull())
    .addColumn('must_know', 'text')
    .addColumn('minimal_version', 'text')
    .execute();
};

/** @throws ConfigError naming the version that is needed */
const requireCompatible = (
  schema: string,
  { name, must_know, minimal_version }: Records['later_migrations'],
  known: ReadonlySet<string>,
): void => {
  if (must_know === null || known.has(must_know)) return;
  throw new ConfigError(
    `The tables in schema "${schema}" belong to a newer version of this service: ${name} removed what this version ` +
      `uses. Start version ${minimal_version} or later, or restore the backup made before the upgrade ` +
      '(docs/operations/upgrading.md)',
  );
};

/**
 * @returns the migrations that have not been applied yet, and the applied migrations of newer versions, both in order
 * @throws ConfigError if a migration of a newer version removed something that this version uses
 */
const readApplied = async (
  records: Kysely<Records>,
  schema: string,
  steps: Steps,
): Promise<{ readonly missing: string[]; readonly newer: string[] }> => {
  const first = await records.selectFrom('migrations').select('name').execute();
  const later = await records.selectFrom('later_migrations').selectAll().orderBy('name').execute();
  const known = new Set(Object.keys(steps));
  const newer = later.filter(({ name }) => !known.has(name));
  for (const migration of newer) requireCompatible(schema, migration, known);
  const applied = new Set([...first, ...later].map(({ name }) => name));
  return {
    missing: [...known].sort().filter((name) => !applied.has(name)),
    newer: newer.map(({ name }) => name),
  };
};

/**
 * Applies the next statement or the next migration.
 * @param ran the statements of migrations that this process has run
 * @returns the applied migrations of newer versions; undefined if something was applied, and more may be missing
 */
const applyNext = async (
  connection: PoolClient,
  schema: string,
  steps: Steps,
  ran: Set<string>,
): Promise<string[] | undefined> => {
  const db = kyselyOver<Records>(connection);
  // A migration of a large table may take longer than any timeout.
  const withoutTimeout = kyselyOver<unknown>({
    query: (text: string, values: unknown[]) =>
      connection.query(Object.assign({ text, values }, { query_timeout: MAX_TIMEOUT_MS })),
  } as Pick<PoolClient, 'query'>);
  await sql`
    select set_config('statement_timeout', '0', true),
      set_config('lock_timeout', ${sql.lit(String(TABLE_LOCK_TIMEOUT_MS))}, true)`.execute(db);
  await createRecords(db, schema);
  const records = db.withSchema(schema);
  const { missing, newer } = await readApplied(records, schema, steps);
  const [name] = missing;
  if (name === undefined) return newer;
  const { statements = [], up, minimalVersion } = steps[name]!;
  const statement = statements.find((one) => !ran.has(one));
  if (statement !== undefined) {
    await sql.raw(statement).execute(withoutTimeout);
    ran.add(statement);
    return undefined;
  }
  await up?.(withoutTimeout);
  // The time is taken from the database's clock, because it is compared with other times that the database has
  // recorded.
  const now = sql<string>`to_char(clock_timestamp() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
  await (
    name <= LAST_IN_FIRST_TABLE[schema]!
      ? records.insertInto('migrations').values({ name, timestamp: now })
      : records.insertInto('later_migrations').values({
          name,
          applied_at: now,
          must_know: minimalVersion?.knows ?? null,
          minimal_version: minimalVersion?.version ?? null,
        })
  ).execute();
  return undefined;
};

/**
 * @returns the migrations of this version that have not been applied to the schema yet
 * @throws ConfigError if a newer version has removed something that this version uses; or the database's error
 */
export const missingMigrations = async (pool: Pool, schema: string, steps: Steps): Promise<string[]> => {
  const db = new Kysely<Records>({ dialect: new PostgresDialect({ pool }) }).withSchema(schema);
  const { rows } = await sql<{ has_records: boolean }>`
    select to_regclass(${`${schema}.later_migrations`}) is not null as has_records`.execute(db);
  return rows[0]!.has_records ? (await readApplied(db, schema, steps)).missing : Object.keys(steps).sort();
};

/** @returns as `applyNext`; 'locked' if another process is migrating */
const tryToMigrate = (
  pool: Pool,
  schema: string,
  steps: Steps,
  ran: Set<string>,
): Promise<string[] | undefined | 'locked'> =>
  inTransaction(pool, async (connection) => {
    const [row] = await LOCK_IF_FREE.plan(connection, { key: LOCK });
    return row!.is_locked ? applyNext(connection, schema, steps, ran) : 'locked';
  });

export interface MigrateOptions {
  /** Called once if another process has been migrating for more than 2 s. */
  readonly onWait?: () => void;
  /** Ends the wait for another process, without migrating. */
  readonly stop?: AbortSignal | undefined;
}

/**
 * Migrates the tables of one schema to this version. Every process calls this function when it starts. A lock in the
 * database lets only one process migrate at a time. Each migration, or each of its statements, is a transaction, so the
 * locks of tables are held for one step only, and the next start continues after a process that was killed. The timeouts
 * of the pool do not apply to the migrations. The timeouts apply to each attempt to take the lock, so that a waiting
 * process notices when the server is gone.
 * @returns the applied migrations of newer versions, which this version can ignore
 * @throws ConfigError if a newer version has removed something that this version uses; or the database's error
 */
export const migrate = async (
  pool: Pool,
  schema: string,
  steps: Steps,
  { onWait, stop }: MigrateOptions = {},
): Promise<string[]> => {
  let reportAt = performance.now() + REPORT_AFTER_MS;
  const ran = new Set<string>();
  while (stop?.aborted !== true) {
    const result = await tryToMigrate(pool, schema, steps, ran);
    if (result === undefined) continue;
    if (result !== 'locked') return result;
    if (performance.now() > reportAt) {
      onWait?.();
      reportAt = Infinity;
    }
    await sleep(POLL_INTERVAL_MS, undefined, { signal: stop }).catch(() => {});
  }
  return [];
};
