import { sql, type Kysely } from 'kysely';

/**
 * What became of sent events, for those who sent them: whose a parked event is, counts by UTC day (days since 1970), type
 * and outcome, and rejections by type too. The owner is an organization, or a key that has none; instants are in ms.
 * Versions before this one still write `rejected_events`.
 */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  await sql`
    alter table read.parked_events
      add column if not exists organization text collate "C",
      add column if not exists key_id text collate "C",
      add column if not exists unreadable boolean`.execute(db);
  await sql`create index if not exists parked_events_of_organization
    on read.parked_events (organization, position, projection)`.execute(db);
  await sql`create index if not exists parked_events_of_key
    on read.parked_events (key_id, position, projection)`.execute(db);
  await sql`create index if not exists parked_events_by_id on read.parked_events (event_id)`.execute(db);
  // Data that PostgreSQL cannot read is left out: it is nobody's.
  await sql`
    update read.parked_events set organization = substring(
      case when data::text !~ '\\\\u(0000|[dD][89a-fA-F])' and json_typeof(data) = 'object' then data ->> 'organization' end
      from '^[a-z0-9][a-z0-9-]{0,63}$'
    )`.execute(db);
  await sql`
    create table if not exists read.event_usage (
      owner text collate "C" not null,
      day integer not null,
      type text collate "C" not null,
      outcome text collate "C" not null,
      events bigint not null,
      primary key (owner, day, type, outcome)
    )`.execute(db);
  await sql`create index if not exists event_usage_by_day on read.event_usage (day)`.execute(db);
  await sql`
    create table if not exists read.rejections (
      owner text collate "C" not null,
      day integer not null,
      key_id text collate "C" not null,
      reason text collate "C" not null,
      type text collate "C" not null,
      count bigint not null,
      last_at bigint not null,
      sample json not null,
      primary key (owner, day, key_id, reason, type)
    )`.execute(db);
  await sql`create index if not exists rejections_by_day on read.rejections (day, owner, key_id, reason, type)`.execute(
    db,
  );
  await sql`
    insert into read.rejections (owner, day, key_id, reason, type, count, last_at, sample)
    select key_id, day, key_id, reason, 'other', count, last_at, sample from read.rejected_events
    on conflict do nothing`.execute(db);
};
