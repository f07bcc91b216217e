import { sql, type Kysely } from 'kysely';

export const up = async (db: Kysely<unknown>): Promise<void> => {
  await sql`
    create table read.records (
      organization text collate "C" not null,
      kind text collate "C" not null,
      id text collate "C" not null,
      version bigint not null,
      event_id uuid not null,
      counts json not null,
      primary key (organization, kind, id)
    ) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02)`.execute(db);
  await sql`
    create table read.facts (
      organization text collate "C" not null,
      brand text collate "C" not null,
      at bigint not null,
      measure smallint not null,
      type text collate "C" not null,
      record text collate "C" not null,
      primary key (organization, brand, at, measure, type, record)
    ) with (autovacuum_vacuum_scale_factor = 0.02)`.execute(db);
  // n travels in each index, so that a range is answered from the index alone; the keys stand so that it is one piece of it.
  await sql`
    create table read.days (
      organization text collate "C" not null,
      brand text collate "C" not null,
      measure smallint not null,
      day integer not null,
      n bigint not null check (n >= 0),
      primary key (organization, brand, measure, day) include (n)
    ) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02)`.execute(db);
  await sql`
    create table read.type_days (
      organization text collate "C" not null,
      brand text collate "C" not null,
      day integer not null,
      type text collate "C" not null,
      n bigint not null check (n >= 0),
      primary key (organization, brand, day, type) include (n)
    ) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02)`.execute(db);
  await sql`
    create table read.type_blocks (
      organization text collate "C" not null,
      brand text collate "C" not null,
      block integer not null,
      type text collate "C" not null,
      n bigint not null check (n >= 0),
      primary key (organization, brand, block, type) include (n)
    ) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02)`.execute(db);
};
