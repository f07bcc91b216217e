import { sql, type Kysely } from 'kysely';

/**
 * The last event a checkpoint counted, which detects a log that was restored and then continued differently.
 * One version made these columns with the table, so they may be there.
 */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  await sql`
    alter table read.checkpoints
      add column if not exists last_stream text,
      add column if not exists last_revision bigint,
      add column if not exists last_event_id uuid,
      drop constraint if exists checkpoints_check`.execute(db);
  await sql`
    alter table read.checkpoints
      add constraint checkpoints_check
      check (num_nulls(last_stream, last_revision, last_event_id) in (0, 3))`.execute(db);
};
