import type { Kysely } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import { CLOCK, nullable, statement } from '../../src/postgres/statement.js';
import { BEGINNING, type EventLog, type RecordedEvent } from '../../src/event-log/event-log.js';
import { createReadModels, type Tables } from '../../src/read-models/tables.js';
import { type Projection, versionOf } from './projection.js';

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
    isApplying: 'boolean[]',
  },
  { projection: 'text' },
  `
    update checkpoints c
    set position = m.to_position, as_of = coalesce($4, c.as_of), unknown = c.unknown + m.unknown,
      last_stream = coalesce(m.stream, c.last_stream), last_revision = coalesce(m.revision, c.last_revision),
      last_event_id = coalesce(m.event_id, c.last_event_id),
      applied_at = case when m.is_applying then ${CLOCK} else c.applied_at end
    from unnest($1::text[], $2::bigint[], $3::bigint[], $5::bigint[], $6::text[], $7::bigint[], $8::uuid[],
      $9::boolean[]) m (projection, from_position, to_position, unknown, stream, revision, event_id, is_applying)
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

/** The commands that drop the indexes of a shadow table that enforce nothing. */
export const DROP_SECONDARY_INDEXES = statement(
  'rebuild-drop-secondary-indexes',
  { schema: 'text', table: 'text' },
  { command: 'text' },
  `
    select format('drop index %s', indexrelid::regclass) as command
    from pg_index where indrelid = to_regclass(format('%I.%I', $1::text, $2::text)) and not indisunique`,
);

/** The process of the server that runs the statements of a connection. */
export const READ_BACKEND = statement('rebuild-read-backend', {}, { pid: 'integer' }, 'select pg_backend_pid() as pid');

export const CANCEL_BACKEND = statement(
  'rebuild-cancel-backend',
  { pid: 'integer' },
  { wasRunning: 'boolean' },
  'select pg_cancel_backend($1) as "wasRunning"',
);

/** Ends the CSV exports that read a table. */
export const END_EXPORTS = statement(
  'rebuild-end-exports',
  { table: 'text', application: 'text' },
  { wasRunning: 'boolean' },
  `
    select pg_terminate_backend(pid) as "wasRunning" from pg_stat_activity
    where application_name = $2 and datname = current_database() and usename = current_user
      and exists (
        select from pg_locks l join pg_class c on c.oid = l.relation
        where l.pid = pg_stat_activity.pid and c.relnamespace = 'read'::regnamespace and c.relname = $1::text
      )
  `,
);

/** Makes the server end the statements of a transaction if the client is gone, where the platform can tell it. */
export const END_WITH_CLIENT = statement(
  'rebuild-end-with-client',
  {},
  { interval: 'text' },
  `select set_config('client_connection_check_interval', '5s', true) as interval where version() like '%linux%'`,
);

/** The commands that create the indexes of a live table that its shadow table does not have, under the live names. */
export const CREATE_MISSING_INDEXES = statement(
  'rebuild-create-missing-indexes',
  { schema: 'text', table: 'text' },
  { command: 'text' },
  `
    select format('set local default_tablespace = %L; create index %I on %I.%I %s', coalesce(spcname, ''), i.relname,
      $1::text, $2::text, regexp_replace(pg_get_indexdef(i.oid), '^.*? ON \\S+ ', '')) as command
    from pg_index x
    join pg_class i on i.oid = x.indexrelid
    left join pg_tablespace t on t.oid = i.reltablespace
    where x.indrelid = to_regclass(format('read.%I', $2::text)) and not x.indisunique
      and to_regclass(format('%I.%I', $1::text, i.relname)) is null
    order by i.relname`,
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

export interface Checkpoint {
  readonly projection: string;
  readonly position: bigint;
}

/** Another projector has moved a checkpoint, so the position known here is outdated. */
export class CheckpointMoved extends Error {}

/** The read models were filled from another log, or from events that the log no longer has. */
export class ForeignCheckpoint extends Error {}

/**
 * Reads the checkpoints of projections. The checkpoint of a new projection is created at the beginning of the log.
 * @throws ForeignCheckpoint if continuing would silently skip events
 */
export const readCheckpoints = async (
  pool: Pool,
  log: EventLog,
  projections: readonly Projection[],
): Promise<Checkpoint[]> => {
  const names = projections.map(({ name }) => name);
  const logId = await log.id();
  await INSERT_CHECKPOINTS.run(pool, {
    projections: names,
    versions: projections.map(versionOf),
    logId,
    position: BEGINNING,
  });
  const rows = await createReadModels(pool)
    .selectFrom('checkpoints')
    .select(['projection', 'log_id', 'position', 'last_stream', 'last_revision', 'last_event_id'])
    .where('projection', 'in', names)
    .orderBy('projection')
    .execute();
  const head = await log.head();
  for (const { projection, log_id, position, last_stream, last_revision, last_event_id } of rows) {
    if (log_id !== logId)
      throw new ForeignCheckpoint(
        `The read model of "${projection}" was filled from log ${log_id}, but this is log ${logId}. ` +
          'Point the service at the log it was filled from, or drop the read models (schema "read") to rebuild them.',
      );
    if (BigInt(position) > head)
      throw new ForeignCheckpoint(
        `The read model of "${projection}" has reached position ${position}, but the log ends at ${head}: ` +
          'the log was restored to an earlier state. Drop the read models (schema "read") to rebuild them.',
      );
    if (last_stream === null || last_revision === null) continue;
    // A log restored to an earlier state may have grown past the checkpoint with other events. The stream is not compared
    // if positions are exact, because the erasure of an organization renames its streams.
    if (log.positionUnit === 'events' && (await log.has({ position: BigInt(position), event: last_event_id! })))
      continue;
    const [next] = await log.readStream(last_stream, BigInt(last_revision), 1);
    // A stream of which the beginning was erased returns a later event.
    const last = next?.revision === BigInt(last_revision) ? next : undefined;
    if (last === undefined && (await log.mayHaveErased(BigInt(position)))) continue;
    // If positions are byte offsets, the checkpoint may be after the last event of this service, at an event of another
    // application.
    const isElsewhere =
      log.positionUnit === 'events'
        ? last?.position !== BigInt(position)
        : last === undefined || last.position > BigInt(position);
    if (last?.id !== last_event_id || isElsewhere)
      throw new ForeignCheckpoint(
        `The read model of "${projection}" has been filled up to event ${last_event_id} at position ${position}, but that event ` +
          `${last?.id === last_event_id ? `is at position ${last.position} now` : 'is no longer in the log'}: the log was ` +
          'restored to an earlier state and continued differently. Drop the read models (schema "read") to rebuild them.',
      );
  }
  return rows.map(({ projection, position }) => ({ projection, position: BigInt(position) }));
};

/**
 * Reads the position of a projection in the live tables.
 * @param lock locks the checkpoint until the transaction ends
 */
export const livePosition = async (
  live: Kysely<Tables>,
  { name }: Projection,
  { lock = false }: { readonly lock?: boolean } = {},
): Promise<bigint> => {
  const checkpoint = live.selectFrom('checkpoints').select('position').where('projection', '=', name);
  const row = await (lock ? checkpoint.forUpdate() : checkpoint).executeTakeFirst();
  return row ? BigInt(row.position) : BEGINNING;
};

export interface CheckpointMove {
  readonly checkpoint: Checkpoint;
  readonly to: bigint;
  /** The last event that the batch applies; undefined if the batch has no new event. */
  readonly last: RecordedEvent | undefined;
  /** Whether the projection applies events of the batch. */
  readonly isApplying: boolean;
  /** Number of events that are skipped because their type is unknown. */
  readonly unknownCount: number;
}

/**
 * Moves checkpoints by compare-and-set. The move must be the first statement of the transaction: a second writer then
 * waits for the lock of the checkpoint, and finds that the position has changed.
 * @param asOf the rows will include everything that was acknowledged before this instant (ms, by the database's clock);
 *   if undefined, the stored instant stays unchanged
 * @throws CheckpointMoved if another projector has moved a checkpoint; the caller must roll back
 */
export const moveCheckpoints = async (
  connection: PoolClient,
  moves: readonly CheckpointMove[],
  asOf: number | undefined,
): Promise<void> => {
  const moved = await MOVE_CHECKPOINTS.run(connection, {
    projection: moves.map(({ checkpoint }) => checkpoint.projection),
    from: moves.map(({ checkpoint }) => checkpoint.position),
    to: moves.map(({ to }) => to),
    asOf: asOf ?? null,
    unknownCount: moves.map(({ unknownCount }) => unknownCount),
    stream: moves.map(({ last }) => last?.stream),
    revision: moves.map(({ last }) => last?.revision),
    eventId: moves.map(({ last }) => last?.id),
    isApplying: moves.map(({ isApplying }) => isApplying),
  });
  if (moved.length !== moves.length) throw new CheckpointMoved('Another projector has moved a checkpoint');
};
