import { sql, type Kysely } from 'kysely';

const TABLE = `create table if not exists service.bounded_times (
  position bigint primary key,
  seen_at bigint not null
)`;

/** Adds the times at which events were first read that the log stored with a time ahead of the database's clock. */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  await sql.raw(TABLE).execute(db);
};
