import { sql, type Kysely } from 'kysely';

export const up = async (db: Kysely<unknown>): Promise<void> => {
  await sql`
    create table read.brands (
      organization text collate "C" not null,
      brand text collate "C" not null,
      name text,
      registered boolean not null,
      version bigint not null,
      event_id uuid not null,
      primary key (organization, brand)
    )`.execute(db);
  await sql`
    create table read.feature_flags (
      organization text collate "C" not null,
      flag text collate "C" not null,
      enabled boolean not null,
      version bigint not null,
      event_id uuid not null,
      primary key (organization, flag)
    )`.execute(db);
};
