import { sql, type Kysely } from 'kysely';

/**
 * The records themselves, for lists and the feed. The projection reads the log from its beginning, in a lane of its own
 * with a lease of its own. The lease of earlier versions stays, so that one of their projectors can end in order.
 */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  await sql`
    create table read.listed_records (
      organization text collate "C" not null,
      kind smallint not null,
      id text collate "C" not null,
      version bigint not null,
      event_id uuid not null,
      position bigint not null,
      stored_at bigint not null,
      created_at bigint,
      updated_at bigint,
      status text collate "C",
      type text collate "C",
      content text collate "C",
      asset uuid,
      brands text[] collate "C",
      primary key (organization, kind, id)
    ) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02)`.execute(db);
  await sql`
    create index listed_records_feed on read.listed_records (organization, kind, position)`.execute(db);
  // The instant is negated, so that "newest first, then by id" is one direction of the index, and a page one piece of it.
  await sql`
    create index listed_records_newest on read.listed_records (organization, kind, (-created_at), id)
    where created_at is not null`.execute(db);
  await sql`
    create index listed_records_by_status on read.listed_records (organization, kind, status, (-created_at), id)
    where status is not null`.execute(db);
  await sql`
    create index listed_records_by_type on read.listed_records (organization, kind, type, (-created_at), id)
    where type is not null`.execute(db);
  await sql`
    create index listed_records_by_status_and_type
    on read.listed_records (organization, kind, status, type, (-created_at), id)
    where status is not null and type is not null`.execute(db);
  await sql`
    create index listed_records_by_asset on read.listed_records (organization, kind, asset, (-created_at), id)
    where asset is not null`.execute(db);

  await sql`
    create table read.brand_records (
      organization text collate "C" not null,
      kind smallint not null,
      id text collate "C" not null,
      brand text collate "C" not null,
      at bigint not null,
      status text collate "C",
      type text collate "C",
      asset uuid,
      primary key (organization, kind, id, brand)
    ) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02)`.execute(db);
  await sql`
    create index brand_records_newest on read.brand_records (organization, kind, brand, (-at), id)`.execute(db);
  await sql`
    create index brand_records_by_status on read.brand_records (organization, kind, brand, status, (-at), id)
    where status is not null`.execute(db);
  await sql`
    create index brand_records_by_type on read.brand_records (organization, kind, brand, type, (-at), id)
    where type is not null`.execute(db);
  await sql`
    create index brand_records_by_status_and_type
    on read.brand_records (organization, kind, brand, status, type, (-at), id)
    where status is not null and type is not null`.execute(db);
  await sql`
    create index brand_records_by_asset on read.brand_records (organization, kind, brand, asset, (-at), id)
    where asset is not null`.execute(db);

  await sql`
    create table read.reviewed_entries (
      change_id text collate "C" primary key,
      version bigint not null,
      event_id uuid not null,
      organizations text[] collate "C" not null
    ) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02)`.execute(db);

  // When the log took a parked event: what it is applied with, if it ever is. Null in rows of before.
  await sql`alter table read.parked_events add column recorded_at bigint`.execute(db);
  await sql`create index parked_events_by_position on read.parked_events (projection, position)`.execute(db);

  await sql`
    create table read.projector_leases (
      lane text collate "C" primary key,
      owner text not null,
      epoch bigint not null,
      expires_at bigint not null,
      wanted_until bigint not null default 0
    ) with (fillfactor = 10)`.execute(db);
};
