import { sql, type Kysely } from 'kysely';

/** When each key was last good for a request, to the minute (ms). */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  await sql`
    create table if not exists read.key_uses (
      key_id text collate "C" primary key,
      last_used_at bigint not null
    )`.execute(db);
};
