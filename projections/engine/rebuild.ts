import type { Pool } from 'pg';
import type { EventLog } from '../../src/event-log/event-log.js';
import { isTransient } from '../../src/postgres/transient-errors.js';
import { createReadModels, readModelsOver } from '../../src/read-models/kysely.js';
import { type Projection, versionOf } from './projection.js';
import { applyLog, createSchemaBeside, type Target } from './apply-log.js';
import { TRY_LOCK, UNLOCK_ALL } from './statements.js';

/** How long the switch waits for readers of the live tables before it backs off and retries. */
const LOCK_TIMEOUT_MS = 500;
const MAX_TRIES = 60;

/**
 * Fills a projection's tables next to the live ones, then switches atomically: readers see either the old rows or the
 * new ones, complete.
 * @param onProgress called with the position reached
 * @throws if another rebuild of the same projection is running
 */
export const rebuild = async (
  source: { readonly pool: Pool; readonly log: EventLog },
  projection: Projection,
  onProgress?: (position: bigint) => void,
): Promise<void> => {
  const { pool } = source;
  const schema = `read_next_${projection.name}`;
  const target = { projection, schema };
  const guard = await pool.connect();
  try {
    const [guarded] = await TRY_LOCK.run(guard, { lock: schema });
    if (!guarded!.locked) throw new Error(`A rebuild of "${projection.name}" is already running`);
    await createSchemaBeside(pool, schema, projection);
    let position = await applyLog(source, [target], { onProgress });
    for (let attempt = 1; ; attempt += 1) {
      try {
        position = await switchOver(source, target, position);
        break;
      } catch (error) {
        if (!isTransient(error) || attempt === MAX_TRIES) throw error;
        // The live projector has advanced in the meantime; the next attempt finds little left to apply.
        position = await applyLog(source, [target], { after: position });
      }
    }
    await pool.query(`drop schema "${schema}" cascade`);
    onProgress?.(position);
  } finally {
    await UNLOCK_ALL.run(guard, {}).catch(() => {});
    guard.release();
  }
};

const switchOver = async (
  source: { readonly pool: Pool; readonly log: EventLog },
  target: Target,
  position: bigint,
): Promise<bigint> => {
  const { projection, schema } = target;
  const connection = await source.pool.connect();
  const live = readModelsOver(connection).withSchema('read');
  try {
    await connection.query(`begin; set local lock_timeout = ${LOCK_TIMEOUT_MS}; set local statement_timeout = 0`);
    // From here on the live projector waits, so that the new tables can reach exactly its position.
    const { position: reached } = await live
      .selectFrom('checkpoints')
      .select('position')
      .where('projection', '=', projection.name)
      .forUpdate()
      .executeTakeFirstOrThrow();
    const upTo = BigInt(reached);
    if (position > upTo)
      throw Object.assign(new Error('The live projector is behind the rebuilt tables'), { code: '55P03' });
    // Committed before the switch, so that no reader can find the new tables without the last events.
    await applyLog(source, [target], { after: position, upTo });
    for (const table of projection.tables)
      await connection.query(`drop table read."${table}"; alter table "${schema}"."${table}" set schema read`);
    await live
      .updateTable('checkpoints')
      .set({ version: versionOf(projection) })
      .where('projection', '=', projection.name)
      .execute();
    await live.deleteFrom('parked_events').where('projection', '=', projection.name).execute();
    await connection.query(`insert into read.parked_events select * from "${schema}".parked_events`);
    await connection.query('commit');
    return upTo;
  } catch (error) {
    await connection.query('rollback').catch(() => {});
    throw error;
  } finally {
    connection.release();
  }
};

/** Those of the projections whose rows were made by other rules than today's. */
const findOutdated = async (pool: Pool, projections: readonly Projection[]): Promise<Projection[]> => {
  const rows = await createReadModels(pool).selectFrom('checkpoints').select(['projection', 'version']).execute();
  const versions = new Map(rows.map(({ projection, version }) => [projection, version]));
  return projections.filter(
    (projection) => (versions.get(projection.name) ?? versionOf(projection)) < versionOf(projection),
  );
};

/**
 * Rebuilds the rows of an earlier version, beside the live ones and while they are served. Never rejects: the old rows
 * stay in use, and the next start tries again.
 */
export const rebuildOutdated = async (
  source: { readonly pool: Pool; readonly log: EventLog },
  projections: readonly Projection[],
  { say, warn }: { readonly say: (line: string) => void; readonly warn: (line: string) => void },
  stop: AbortSignal,
): Promise<void> => {
  try {
    for (const projection of await findOutdated(source.pool, projections)) {
      say(`Rebuilding the read model of "${projection.name}", whose rows are of an earlier version`);
      await rebuild(source, projection, () => stop.throwIfAborted());
      say(`Rebuilt the read model of "${projection.name}"`);
    }
  } catch (error) {
    if (!stop.aborted) warn(`A read model was not rebuilt: ${error instanceof Error ? error.message : String(error)}`);
  }
};
