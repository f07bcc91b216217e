import { sql, type Kysely } from 'kysely';

const STATEMENTS = [
  // A record's key is a UUID that its organization, kind and id determine, because one short key serves all readers.
  `create table read.register (
    record uuid primary key,
    organization text collate "C" not null,
    kind smallint not null,
    id text collate "C" not null,
    version bigint not null,
    event_id uuid not null,
    position bigint not null,
    moved_by uuid,
    stored_at bigint not null,
    added_at bigint not null,
    first_added_at bigint,
    has_counted boolean not null,
    created_at bigint,
    status text collate "C",
    type text collate "C",
    asset uuid,
    content text collate "C",
    brands text[] collate "C",
    item text collate "C"
  ) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02)`,
  'create index register_feed on read.register (organization, kind, position)',
  // Instants are negated in indexes, so that an index scan in one direction returns "newest first, then by id". Every
  // list is merged from ranges of this index, one for each combination of status and type.
  `create index register_list on read.register
    (organization, kind, coalesce(status, ''), coalesce(type, ''), (-created_at), id) where created_at is not null`,
  `create index register_by_asset on read.register (organization, kind, asset, (-created_at), id)
    where asset is not null`,
  'create index register_objects on read.register (organization, kind, added_at, position) where has_counted',
  `create table read.register_brands (
    record uuid not null,
    organization text collate "C" not null,
    kind smallint not null,
    id text collate "C" not null,
    brand text collate "C" not null,
    at bigint not null,
    status text collate "C",
    type text collate "C",
    asset uuid,
    primary key (record, brand)
  ) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02)`,
  `create index register_brands_list on read.register_brands
    (organization, kind, brand, coalesce(status, ''), coalesce(type, ''), (-at), id)`,
  `create index register_brands_by_asset on read.register_brands (organization, kind, brand, asset, (-at), id)
    where asset is not null`,
  `create table read.entries (
    change_id text collate "C" primary key,
    version bigint not null,
    event_id uuid not null,
    organizations text[] collate "C" not null,
    position bigint,
    stored_at bigint,
    added_at bigint,
    history jsonb,
    check (num_nulls(position, history) = 1)
  ) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02)`,
  `create table read.register_clock (
    singleton boolean primary key check (singleton),
    position bigint not null,
    recorded_at bigint not null,
    added_at bigint not null
  )`,
  // New installations do without the tables of version 2.2.
  `do $$ begin
    if not exists (select from read.checkpoints where projection = 'records') then
      drop table read.listed_records, read.brand_records, read.reviewed_entries, read.recording_clock;
    end if;
  end $$`,
];

/**
 * Adds the register of records. The projection `register` fills it from the log; until then, processes of version 2.2 use
 * their own tables, and processes of this version answer requests for records with 503.
 */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
};
