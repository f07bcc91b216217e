/** Adds to the day's sums, zero included, which is how they are read. */
export const ADD_INGEST_USAGE = {
  name: 'ingest-usage-add',
  text: `
    insert into read.ingest_usage as u (day, organization, events, bytes)
    select $1, * from unnest($2::text[], $3::bigint[], $4::bigint[]) i (organization, events, bytes) order by organization
    on conflict (day, organization) do update
      set events = greatest(u.events + excluded.events, 0), bytes = greatest(u.bytes + excluded.bytes, 0)
    returning organization, events, bytes`,
};

/** What another instance has noted later stays. */
export const NOTE_KEY_USES = {
  name: 'key-uses-note',
  text: `
    insert into read.key_uses as k (key_id, last_used_at)
    select * from unnest($1::text[], $2::bigint[]) u (key_id, last_used_at) order by key_id
    on conflict (key_id) do update set last_used_at = greatest(k.last_used_at, excluded.last_used_at)`,
};

export const ADD_REJECTED_EVENTS = {
  name: 'rejected-events-add',
  text: `
    insert into read.rejected_events as r (day, key_id, reason, count, last_at, sample)
    select * from unnest($1::int[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::json[])
      as i (day, key_id, reason, count, last_at, sample) order by day, key_id, reason
    on conflict (day, key_id, reason) do update
      set count = r.count + excluded.count, last_at = greatest(r.last_at, excluded.last_at)`,
};
