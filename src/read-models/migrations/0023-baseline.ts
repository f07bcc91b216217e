import { sql, type Kysely } from 'kysely';
import type { NumberedMigration } from '../../postgres/migrator.js';
import { ConfigError } from '../../runtime/config.js';
import { ASSET_TABLES, METRIC_TABLES, RECORD_TABLES } from './baseline/records.js';
import { ENGINE_TABLES, ORGANIZATION_TABLES, SERVICE_TABLES } from './baseline/service.js';

const TOO_OLD =
  'The tables are of a version before 2.1.0. Upgrade to 2.2.0 first, which converts them, and then to this version';

/**
 * Creates all tables.
 *
 * An operator can drop the schema `read` at any time, and the service rebuilds it from the log. The schema `service`,
 * which cannot be rebuilt, then remains. This migration therefore accepts that one, and a later migration that changes
 * `service` must be repeatable (`add column if not exists`).
 * @throws ConfigError if the tables are of a version before 2.1.0
 */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  const { rows } = await sql<{ has_read: boolean; has_schema: boolean; progress: string[] }>`
    select exists (select from pg_tables where schemaname = 'read' and tablename = 'checkpoints') as has_read,
      exists (select from pg_namespace where nspname = 'service') as has_schema,
      array(
        select column_name::text from information_schema.columns
        where table_schema = 'service' and table_name = 'webhook_progress'
      ) as progress`.execute(db);
  const { has_read, has_schema, progress } = rows[0]!;
  if (has_read || progress.includes('replay')) throw new ConfigError(TOO_OLD);
  // PostgreSQL rejects `create schema if not exists` if the role may not create schemas, even if the role owns this
  // schema.
  const statements = [
    ...(has_schema ? [] : ['create schema service']),
    ...ENGINE_TABLES,
    ...METRIC_TABLES,
    ...RECORD_TABLES,
    ...ASSET_TABLES,
    ...ORGANIZATION_TABLES,
    ...(progress.length === 0 ? SERVICE_TABLES : []),
  ];
  for (const statement of statements) await sql.raw(statement).execute(db);
};

/** Earlier versions read columns and views that this version does not have. */
export const minimalVersion: NumberedMigration['minimalVersion'] = { knows: '0023-baseline', version: '2.1.0' };
