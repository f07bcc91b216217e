import { sql, type Kysely } from 'kysely';

const STATEMENTS = [
  `alter table read.listed_records
    add column first_recorded_at bigint, add column added_at bigint, add column object_id uuid`,
  `create index listed_records_objects on read.listed_records (organization, kind, added_at, position)
    where object_id is not null`,
  'create index listed_records_by_object_id on read.listed_records (object_id) where object_id is not null',
  `create table read.recording_clock (
    singleton boolean primary key check (singleton),
    position bigint not null,
    recorded_at bigint not null,
    added_at bigint not null
  )`,
  'alter table read.checkpoints add column applied_at bigint',
];

/** Adds what the collections of TAXII read: when records were stored, and the ids of their objects. */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
};
