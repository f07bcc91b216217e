import { setTimeout as sleep } from 'node:timers/promises';
import { Kysely, type Migration, PostgresDialect, sql } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import { ConfigError } from '../runtime/config.js';
import { LOCK_IF_FREE } from './statements.js';
import { inTransaction, kyselyOver } from './transaction.js';

/** A numbered step of a schema. Processes of earlier versions pass it over, unless it names a minimal version. */
export interface NumberedMigration extends Migration {
  /** If it removes or changes what earlier versions use: what a process must be to use the tables after it. */
  readonly minimalVersion?: {
    /** A migration that it knows: the one that brought what is used instead. */
    readonly knows: string;
    /** The first version that does, for people. */
    readonly version: string;
  };
}

/** Of one schema, by name. */
type Steps = Readonly<Record<string, NumberedMigration>>;

interface Records {
  migrations: { name: string; timestamp: string };
  later_migrations: { name: string; applied_at: string; must_know: string | null; minimal_version: string | null };
}

/**
 * The last migration of each schema that is recorded in the table `migrations`. Version 2.0.0 and its successors until
 * `later_migrations` came do not start if it names one that they do not know; so it never names another.
 */
const LAST_IN_FIRST_TABLE: Readonly<Record<string, string>> = {
  log: '0001-first-tables',
  read: '0012-members-and-reviews',
};

/** The lock of Kysely's migrator, with which those versions migrate. */
const LOCK = '3853314791062309107';
/** How often a process that finds another one migrating looks whether it is done. ms */
const LOOKS_EVERY_MS = 100;
/** How long it waits before it says so: processes often start together. ms */
const TOLD_AFTER_MS = 2_000;
/** How long a step may wait for a table: what asks for the table after it waits too. ms */
const TABLE_WAIT_MS = 4_000;
/** A client's limit for a statement that has none: as long as a timer can be, because `pg` takes 0 for the pool's. ms */
const NO_LIMIT_MS = 2 ** 31 - 1;

const createRecords = async (db: Kysely<Records>, schema: string): Promise<void> => {
  // A role that owns the schema, but may not create any, is refused even `create schema if not exists`. What
  // `to_regnamespace` and the like once found missing they may find missing still when another has made it.
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
const refuseContracted = (
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
 * @returns the steps that the tables do not have yet, and the migrations of newer versions that they have, in order
 * @throws ConfigError if one of those removed what this version uses
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
  for (const migration of newer) refuseContracted(schema, migration, known);
  const applied = new Set([...first, ...later].map(({ name }) => name));
  return {
    missing: [...known].sort().filter((name) => !applied.has(name)),
    newer: newer.map(({ name }) => name),
  };
};

const applyPending = async (connection: PoolClient, schema: string, steps: Steps): Promise<string[]> => {
  const db = kyselyOver<Records>(connection);
  // A step takes as long as its tables are large.
  const unhurried = kyselyOver<unknown>({
    query: (text: string, values: unknown[]) =>
      connection.query(Object.assign({ text, values }, { query_timeout: NO_LIMIT_MS })),
  } as Pick<PoolClient, 'query'>);
  await sql`
    select set_config('statement_timeout', '0', true),
      set_config('lock_timeout', ${sql.lit(String(TABLE_WAIT_MS))}, true)`.execute(db);
  await createRecords(db, schema);
  const records = db.withSchema(schema);
  const { missing, newer } = await readApplied(records, schema, steps);
  const last = LAST_IN_FIRST_TABLE[schema]!;
  for (const name of missing) {
    const step = steps[name]!;
    await step.up(unhurried);
    // By the database's clock, because it is compared with instants that the database has recorded.
    const now = sql<string>`to_char(clock_timestamp() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
    await (
      name <= last
        ? records.insertInto('migrations').values({ name, timestamp: now })
        : records.insertInto('later_migrations').values({
            name,
            applied_at: now,
            must_know: step.minimalVersion?.knows ?? null,
            minimal_version: step.minimalVersion?.version ?? null,
          })
    ).execute();
  }
  return newer;
};

/**
 * @returns the migrations of this version that a schema's tables do not have yet
 * @throws ConfigError if a newer version has removed what this one uses; or what the database said
 */
export const missingMigrations = async (pool: Pool, schema: string, steps: Steps): Promise<string[]> => {
  const db = new Kysely<Records>({ dialect: new PostgresDialect({ pool }) }).withSchema(schema);
  const { rows } = await sql<{ has_records: boolean }>`
    select to_regclass(${`${schema}.later_migrations`}) is not null as has_records`.execute(db);
  return rows[0]!.has_records ? (await readApplied(db, schema, steps)).missing : Object.keys(steps).sort();
};

/** @returns undefined if another process is at it */
const tryToMigrate = (pool: Pool, schema: string, steps: Steps): Promise<string[] | undefined> =>
  inTransaction(pool, async (connection) => {
    const [row] = await LOCK_IF_FREE.plan(connection, { key: LOCK });
    return row!.is_locked ? applyPending(connection, schema, steps) : undefined;
  });

export interface MigrateOptions {
  /** Called once if another process is at it and takes its time. */
  readonly onWait?: () => void;
  /** Ends the waiting for that, with the tables as they are. */
  readonly stop?: AbortSignal | undefined;
}

/**
 * Brings one schema's tables to this version. Every process does it at its start; a lock in the database lets one at
 * a time, and the whole step is one transaction, so that one killed in the middle has done nothing. The work may take as
 * long as it takes, whatever the pool's limits are; what waits for the lock asks for it again and again within them, so
 * that it notices a server that is gone.
 * @returns the migrations of newer versions that the tables have and that this version can pass over
 * @throws ConfigError if a newer version has removed what this one uses; or what the database said
 */
export const migrate = async (
  pool: Pool,
  schema: string,
  steps: Steps,
  { onWait, stop }: MigrateOptions = {},
): Promise<string[]> => {
  let tellAt = performance.now() + TOLD_AFTER_MS;
  while (stop?.aborted !== true) {
    const newer = await tryToMigrate(pool, schema, steps);
    if (newer !== undefined) return newer;
    if (performance.now() > tellAt) {
      onWait?.();
      tellAt = Infinity;
    }
    await sleep(LOOKS_EVERY_MS, undefined, { signal: stop }).catch(() => {});
  }
  return [];
};
