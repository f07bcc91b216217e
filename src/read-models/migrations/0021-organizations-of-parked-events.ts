import { sql, type Kysely } from 'kysely';

/**
 * The organizations that a parked event about an entry of the asset status history concerns, for the marks of the feed.
 * `organizations` stays null if they are not known: the data cannot be read by PostgreSQL, or an earlier version parked
 * the event. Such an event counts for every organization.
 */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  await sql`
    alter table read.parked_events
      add column if not exists change_id text collate "C",
      add column if not exists organizations text[] collate "C"`.execute(db);
  await sql`
    update read.parked_events set
      change_id = data ->> 'changeId',
      organizations = array(
        select distinct review ->> 'organization' collate "C"
        from json_array_elements(case when json_typeof(data -> 'brandReviews') = 'array' then data -> 'brandReviews' end)
          review
        where review ->> 'organization' is not null
      )
    where type in ('AssetStatusChanged', 'AssetStatusChangeDeleted')
      and data::text !~ '\\\\u(0000|[dD][89a-fA-F])' and json_typeof(data) = 'object'`.execute(db);
  await sql`
    create index if not exists parked_events_of_entries on read.parked_events (projection, position)
    where type in ('AssetStatusChanged', 'AssetStatusChangeDeleted')`.execute(db);
};
