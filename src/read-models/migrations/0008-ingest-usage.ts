import { sql, type Kysely } from 'kysely';

/** What each organization has sent with its own ingest keys, by UTC day (days since 1970). */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  await sql`
    create table if not exists read.ingest_usage (
      day integer not null,
      organization text collate "C" not null,
      events bigint not null,
      bytes bigint not null,
      primary key (day, organization)
    )`.execute(db);
};
