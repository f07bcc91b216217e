import { Kysely, type Migration, Migrator, PostgresDialect } from 'kysely';
import type { Pool } from 'pg';

/**
 * Brings one schema's tables to this version. Every process does it at its start; a lock in the database lets one at
 * a time, and the whole step is one transaction, so that one killed in the middle has done nothing.
 * @throws what the database said of the migration that failed
 */
export const migrate = async (pool: Pool, schema: string, migrations: Record<string, Migration>): Promise<void> => {
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) });
  const migrator = new Migrator({
    db,
    provider: { getMigrations: () => Promise.resolve(migrations) },
    migrationTableSchema: schema,
    migrationTableName: 'migrations',
    migrationLockTableName: 'migrations_lock',
  });
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
};
