import { sql, type Kysely } from 'kysely';

/** Individual takedowns: durations cannot be derived from counts. The projection reads the log from its beginning. */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  await sql`
    create table read.takedowns (
      organization text collate "C" not null,
      id text collate "C" not null,
      version bigint not null,
      event_id uuid not null,
      brand text collate "C" not null,
      type text collate "C" not null,
      outcome smallint,
      created_at bigint,
      updated_at bigint,
      took bigint generated always as (case when outcome = 1 then updated_at - created_at end) stored,
      primary key (organization, id)
    ) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02)`.execute(db);
  // In order, so that percentiles need no sorting. An index by date beside it would make short ranges cheaper, and
  // projecting more expensive.
  await sql`
    create index takedowns_completed on read.takedowns (organization, type, took) include (updated_at)
    where outcome = 1`.execute(db);
  await sql`
    create index takedowns_withdrawn on read.takedowns (organization, created_at) include (outcome)
    where outcome in (2, 3)`.execute(db);
  await sql`
    create index takedowns_of_brand on read.takedowns (organization, brand, updated_at) include (outcome, type, took)
    where brand <> '' and outcome is not null`.execute(db);
};
