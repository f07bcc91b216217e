import { sql, type Kysely } from 'kysely';
import type { NumberedMigration } from '../../postgres/migrator.js';
import { ConfigError } from '../../runtime/config.js';
import { ASSET_TABLES } from './baseline/assets.js';
import { CONVERT_READ_MODELS, CONVERT_SERVICE, MOVE_SERVICE } from './baseline/convert.js';
import { ENGINE_TABLES } from './baseline/engine.js';
import { METRIC_TABLES } from './baseline/metrics.js';
import { ORGANIZATION_TABLES } from './baseline/organizations.js';
import { RECORD_TABLES } from './baseline/records.js';
import { SERVICE_TABLES } from './baseline/service.js';

/** The last migration of version 2.0.0, and the last migration of the unreleased versions after 2.0.0. */
const LAST_OF_2_0_0 = '0018-lost-in-rebuilds';
const LAST_BEFORE = '0022-event-of-webhook-progress';

const TOO_OLD =
  'The read models were made by a development version before 2.0.0. Drop the schema `read` and start again: they are ' +
  'rebuilt from the log';

/**
 * Creates all tables, or converts the tables of version 2.0.0.
 *
 * An operator can drop the schema `read` at any time, and the service rebuilds it from the log. The schema `service`,
 * which cannot be rebuilt, then remains. This migration therefore accepts each of the two schemas in any state, and a
 * later migration that changes `service` must be repeatable (`add column if not exists`).
 * @throws ConfigError if the tables are of a version before 2.0.0
 */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  const { rows } = await sql<{ has_read: boolean; applied: string[]; has_schema: boolean; progress: string[] }>`
    select exists (select from pg_tables where schemaname = 'read' and tablename = 'checkpoints') as has_read,
      array(select name from read.later_migrations) as applied,
      exists (select from pg_namespace where nspname = 'service') as has_schema,
      array(
        select column_name::text from information_schema.columns
        where table_schema = 'service' and table_name = 'webhook_progress'
      ) as progress`.execute(db);
  const { has_read, applied, has_schema, progress } = rows[0]!;
  if (has_read && !applied.includes(LAST_OF_2_0_0)) throw new ConfigError(TOO_OLD);
  const isMoved = !has_read || applied.includes(LAST_BEFORE);
  // PostgreSQL rejects `create schema if not exists` if the role may not create schemas, even if the role owns this
  // schema.
  const schema = has_schema ? [] : ['create schema service'];
  const moved = isMoved ? [] : MOVE_SERVICE;
  const read = has_read
    ? CONVERT_READ_MODELS
    : [...ENGINE_TABLES, ...METRIC_TABLES, ...RECORD_TABLES, ...ASSET_TABLES, ...ORGANIZATION_TABLES];
  const isOld = !isMoved || progress.includes('replay');
  const service = isOld ? CONVERT_SERVICE : progress.length === 0 ? SERVICE_TABLES : [];
  for (const statement of [...schema, ...moved, ...read, ...service]) await sql.raw(statement).execute(db);
};

/** Earlier versions read columns and views that this migration drops. */
export const minimalVersion: NumberedMigration['minimalVersion'] = { knows: '0023-baseline', version: '2.1.0' };
