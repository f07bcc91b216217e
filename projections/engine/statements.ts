const CLOCK = `floor(extract(epoch from clock_timestamp()) * 1000)`;

/** Takes the lease if it is free or expired, or renews it. $1 owner, $2 duration (ms). */
export const TAKE_LEASE = {
  name: 'lease-take',
  text: `
    insert into read.projector_lease as l (owner, epoch, expires_at) values ($1, 1, ${CLOCK} + $2)
    on conflict (singleton) do update
      set owner = $1, expires_at = excluded.expires_at,
        epoch = case when l.owner = $1 then l.epoch else l.epoch + 1 end
      where l.owner = $1 or l.expires_at < ${CLOCK}`,
};

/** Creates checkpoints of new projections. */
export const ENTER_CHECKPOINTS = {
  name: 'checkpoints-enter',
  text: `
    insert into read.checkpoints (projection, log_id, position, as_of)
    select name, $2, $3, 0 from unnest($1::text[]) name on conflict do nothing`,
};

/** Moves checkpoints that are still at the expected position. */
export const MOVE_CHECKPOINTS = {
  name: 'checkpoints-move',
  text: `
    update checkpoints c
    set position = m.to_position, as_of = greatest(c.as_of, $4), unknown = c.unknown + m.unknown,
      last_stream = coalesce(m.stream, c.last_stream), last_revision = coalesce(m.revision, c.last_revision),
      last_event_id = coalesce(m.event_id, c.last_event_id)
    from unnest($1::text[], $2::bigint[], $3::bigint[], $5::bigint[], $6::text[], $7::bigint[], $8::uuid[])
      m (projection, from_position, to_position, unknown, stream, revision, event_id)
    where c.projection = m.projection and c.position = m.from_position`,
};

/** An event that comes again stays parked as it was. */
export const PARK = {
  name: 'parked-events-park',
  text: `
    insert into parked_events (projection, event_id, position, stream, revision, type, data, metadata, reason, parked_at)
    select $1, id, position, stream, revision, type, data::json, metadata::json, reason, $10
    from unnest($2::uuid[], $3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::text[], $9::text[])
      r (id, position, stream, revision, type, data, metadata, reason)
    on conflict do nothing`,
};

export const TRY_LOCK = {
  name: 'rebuild-try-lock',
  text: 'select pg_try_advisory_lock(hashtext($1)) as locked',
};
export const UNLOCK_ALL = { name: 'rebuild-unlock-all', text: 'select pg_advisory_unlock_all()' };

export const COLUMNS_OF_TABLE = {
  name: 'verify-columns-of-table',
  text: `
    select column_name, data_type from information_schema.columns
    where table_schema = 'read' and table_name = $1 order by ordinal_position`,
};
