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
  `
    insert into read.checkpoints (projection, log_id, position, as_of, version)
    select name, :logId, :position, 0, version from unnest(:projections, :versions) p (name, version)
    on conflict do nothing`,
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
    set position = m.to_position, as_of = coalesce(:asOf, c.as_of), unknown = c.unknown + m.unknown,
      last_stream = coalesce(m.stream, c.last_stream), last_revision = coalesce(m.revision, c.last_revision),
      last_event_id = coalesce(m.event_id, c.last_event_id),
      applied_at = case when m.is_applying then ${CLOCK} else c.applied_at end
    from unnest(:projection, :from, :to, :unknownCount, :stream, :revision, :eventId, :isApplying)
      m (projection, from_position, to_position, unknown, stream, revision, event_id, is_applying)
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
  },
  `
    insert into parked_events (
      projection, event_id, position, stream, revision, type, data, metadata, reason, recorded_at,
      organization, key_id, unreadable, parked_at
    )
    select :projection, id, position, stream, revision, type, data::json, metadata::json, reason, recorded_at,
      organization, key_id, unreadable, ${CLOCK}
    from unnest(:id, :position, :stream, :revision, :type, :data, :metadata, :reason, :recordedAt,
      :organization, :keyId, :unreadable)
      r (id, position, stream, revision, type, data, metadata, reason, recorded_at, organization, key_id, unreadable)
    on conflict do nothing`,
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
