import { describe, expect, it } from '@jest/globals';
import type { Pool } from 'pg';
import { migrateReadModels } from '../../src/read-models/migrate.js';
import { createDatabase } from '../support/postgres.js';
import { UNDO_SERVICE_SCHEMA } from './migrations/service-schema.js';

/** Every column and check of the read models. */
const shapeOf = async (pool: Pool): Promise<string[]> => {
  const { rows } = await pool.query<{ what: string }>(`
    select table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable as what
      from information_schema.columns where table_schema in ('read', 'service')
    union all
    select conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid)
      from pg_constraint where connamespace in ('read'::regnamespace, 'service'::regnamespace) and contype = 'c'
    order by 1`);
  return rows.map(({ what }) => what);
};

/** What an earlier version had made, from what this one makes. */
const EARLIER: readonly [name: string, changes: string][] = [
  [
    'with sums of 32 days and without the last event of a checkpoint',
    `alter table read.checkpoints drop last_stream, drop last_revision, drop last_event_id;
     create table read.type_blocks (organization text, n bigint)`,
  ],
  ['that made the last event of a checkpoint with its table', ''],
];

describe('the tables of a database that an earlier version made', () => {
  it.each(EARLIER)('become those of this version: one %s', async (_, changes) => {
    const database = await createDatabase();
    try {
      const due = await shapeOf(database.pool);
      await database.pool.query(
        `${UNDO_SERVICE_SCHEMA}; ${changes}; drop table read.takedowns;
         drop table read.listed_records, read.brand_records, read.reviewed_entries, read.projector_leases;
         drop table read.webhook_endpoints, read.webhook_progress, read.webhook_attempts, read.webhook_tests,
           read.webhook_outcomes;
         drop index read.parked_events_by_position; alter table read.parked_events drop recorded_at;
         delete from read.migrations where name > '0005-asset-groups'; delete from read.later_migrations`,
      );
      await database.pool.query(`
        insert into read.checkpoints (projection, log_id, position, as_of) values ('metrics', 'a log', 7, 0)`);
      await migrateReadModels(database.pool);
      expect(await shapeOf(database.pool)).toEqual(due);
      const { rows } = await database.pool.query('select position, last_stream from read.checkpoints');
      expect(rows).toEqual([{ position: 7, last_stream: null }]);
    } finally {
      await database.drop();
    }
  });
});
