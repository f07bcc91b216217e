import { sql, type Kysely } from 'kysely';

/** Which event a checkpoint counted last: by it a log that was restored and then went on otherwise is told apart. */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  await sql`
    alter table read.checkpoints
      add last_stream text,
      add last_revision bigint,
      add last_event_id uuid,
      add check (num_nulls(last_stream, last_revision, last_event_id) in (0, 3))`.execute(db);
};
