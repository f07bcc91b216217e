import { sql, type Kysely } from 'kysely';

/** Events that were refused, by UTC day (days since 1970), key and reason; instants in ms. */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  await sql`
    create table if not exists read.rejected_events (
      day integer not null,
      key_id text collate "C" not null,
      reason text collate "C" not null,
      count bigint not null,
      last_at bigint not null,
      sample json not null,
      primary key (day, key_id, reason)
    )`.execute(db);
};
