/** Adds what the collections of TAXII read: when records were stored, and the ids of their objects. */
export const statements = [
  `alter table read.listed_records
    add column if not exists first_recorded_at bigint, add column if not exists added_at bigint,
    add column if not exists object_id uuid`,
  `create index if not exists listed_records_objects on read.listed_records (organization, kind, added_at, position)
    where object_id is not null`,
  `create index if not exists listed_records_by_object_id on read.listed_records (object_id)
    where object_id is not null`,
  `create table if not exists read.recording_clock (
    singleton boolean primary key check (singleton),
    position bigint not null,
    recorded_at bigint not null,
    added_at bigint not null
  )`,
  'alter table read.checkpoints add column if not exists applied_at bigint',
];
