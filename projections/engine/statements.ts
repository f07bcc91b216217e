import { CLOCK } from '../../src/postgres/statements.js';
import { nullable, statement } from '../../src/postgres/statement.js';

/** Creates checkpoints of new projections. */
export const INSERT_CHECKPOINTS = statement(
  'checkpoints-enter',
  { projections: 'text[]', versions: 'integer[]', logId: 'text', position: 'bigint' },
  {},
  `
    insert into read.checkpoints (projection, log_id, position, as_of, version)
    select name, $3, $4, 0, version from unnest($1::text[], $2::integer[]) p (name, version) on conflict do nothing`,
);

/** Moves checkpoints that are still at the expected position. */
export const MOVE_CHECKPOINTS = statement(
  'checkpoints-move',
  {
    projection: 'text[]',
    from: 'bigint[]',
    to: 'bigint[]',
    /**
     * The instant before which every acknowledged event is applied, in ms. Null leaves the column `as_of` unchanged:
     * the instant is unknown, or this is not the last piece of a batch.
     */
    asOf: nullable('bigint'),
    unknownCount: 'bigint[]',
    stream: 'text[]',
    revision: 'bigint[]',
    eventId: 'uuid[]',
  },
  { projection: 'text' },
  `
    update checkpoints c
    set position = m.to_position, as_of = coalesce($4, c.as_of), unknown = c.unknown + m.unknown,
      last_stream = coalesce(m.stream, c.last_stream), last_revision = coalesce(m.revision, c.last_revision),
      last_event_id = coalesce(m.event_id, c.last_event_id)
    from unnest($1::text[], $2::bigint[], $3::bigint[], $5::bigint[], $6::text[], $7::bigint[], $8::uuid[])
      m (projection, from_position, to_position, unknown, stream, revision, event_id)
    where c.projection = m.projection and c.position = m.from_position
    returning c.projection`,
);

/** Parks events. An event that is already parked is left unchanged. */
export const PARK = statement(
  'parked-events-park',
  {
    projection: 'text',
    id: 'uuid[]',
    position: 'bigint[]',
    stream: 'text[]',
    revision: 'bigint[]',
    type: 'text[]',
    data: 'text[]',
    metadata: 'text[]',
    reason: 'text[]',
    recordedAt: 'bigint[]',
    organization: 'text[]',
    keyId: 'text[]',
    unreadable: 'boolean[]',
    changeId: 'text[]',
    /** For each event, a PostgreSQL array literal in a text. */
    organizations: 'text[]',
  },
  {},
  `
    insert into parked_events (
      projection, event_id, position, stream, revision, type, data, metadata, reason, recorded_at,
      organization, key_id, unreadable, change_id, organizations, parked_at
    )
    select $1, id, position, stream, revision, type, data::json, metadata::json, reason, recorded_at,
      organization, key_id, unreadable, change_id, organizations::text[], ${CLOCK}
    from unnest($2::uuid[], $3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::text[], $9::text[],
      $10::bigint[], $11::text[], $12::text[], $13::boolean[], $14::text[], $15::text[])
      r (id, position, stream, revision, type, data, metadata, reason, recorded_at, organization, key_id, unreadable,
        change_id, organizations)
    on conflict do nothing`,
);

export const TRY_LOCK = statement(
  'rebuild-try-lock',
  { lock: 'text' },
  { locked: 'boolean' },
  'select pg_try_advisory_lock(hashtext($1)) as locked',
);
export const UNLOCK_ALL = statement('rebuild-unlock-all', {}, {}, 'select from pg_advisory_unlock_all()');

export const COLUMNS_OF_TABLE = statement(
  'verify-columns-of-table',
  { table: 'text' },
  { name: 'text', type: 'text' },
  `
    select column_name::text as name, data_type::text as type from information_schema.columns
    where table_schema = 'read' and table_name = $1::text order by ordinal_position`,
);

/** The storage parameters of a table, in the syntax of `with (…)`. */
export const STORAGE_PARAMETERS = statement(
  'rebuild-options-of-table',
  { table: 'text' },
  { option: 'text' },
  `
    select unnest(reloptions) as option from pg_class
    where relnamespace = 'read'::regnamespace and relname = $1::text`,
);

/** The indexes of a shadow table, and the names of the live indexes with the same definition. */
export const SHADOW_INDEXES = statement(
  'rebuild-shadow-indexes',
  { schema: 'text', table: 'text' },
  { name: 'text', live: 'text' },
  `
    with indexes as (
      select n.nspname as schema, i.relname::text as name, x.indisprimary,
        regexp_replace(pg_get_indexdef(x.indexrelid), '^.*? ON \\S+ ', '') as definition, x.indisunique
      from pg_index x
      join pg_class i on i.oid = x.indexrelid
      join pg_class t on t.oid = x.indrelid
      join pg_namespace n on n.oid = t.relnamespace
      where t.relname = $2::text and n.nspname in ('read', $1::text)
    )
    select shadow.name, live.name as live
    from indexes shadow join indexes live using (definition, indisprimary, indisunique)
    where shadow.schema = $1::text and live.schema = 'read'`,
);

/**
 * The commands that give the owner and the privileges of a live table to another table of this name, because
 * `create table like` copies neither. The owner comes first, because the owner grants the privileges.
 */
export const ACCESS_OF_TABLE = statement(
  'rebuild-access-of-table',
  { table: 'text' },
  { command: 'text' },
  `
    with live as (
      select oid, oid::regclass::text as name, relowner, relacl from pg_class
      where relnamespace = 'read'::regnamespace and relname = $1::text
    ),
    granted as (
      select null as attname, a.* from live, aclexplode(relacl) a
      union all
      select attname, a.* from live join pg_attribute on attrelid = live.oid, aclexplode(attacl) a
    )
    select format('alter table %s owner to %s', name, relowner::regrole) as command
    from live where relowner <> current_user::regrole
    union all
    select format('grant %s%s on %s to %s%s', privilege_type, ' (' || quote_ident(attname) || ')', name,
      case when grantee = 0 then 'public' else grantee::regrole::text end,
      case when is_grantable then ' with grant option' end)
    from live, granted where grantee <> relowner`,
);
