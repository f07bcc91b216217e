import type { Pool, PoolClient } from 'pg';
import { BEGINNING } from '../../src/event-log/event-log.js';
import { Backoff, pause } from '../../src/flow/retry.js';
import { createReadModels, readModelsOver } from '../../src/read-models/kysely.js';
import { type Projection, versionOf } from './projection.js';
import { applyLog, applyUpToLive, type Source, type Target, withTablesBeside } from './apply-log.js';
import { livePosition } from './checkpoints.js';

/** How long the switch waits for readers of the live tables before it lets them go on, and tries again. */
const LOCK_TIMEOUT_MS = 500;
const FIRST_BACK_OFF_MS = 100;
const MAX_BACK_OFF_MS = 5_000;
const MAX_TRIES = 60;
/** Somebody holds a table. Not a lost connection, after which rows may be lost too. */
const CONTENDED: ReadonlySet<unknown> = new Set(['55P03', '40P01']);

/**
 * Fills a projection's tables next to the live ones, then switches atomically: readers see either the old rows or the
 * new ones, complete. The live projector may be at work, behind or stopped.
 * @param onProgress called with the position reached
 * @param stop ends it with the live tables as they are
 * @throws if another rebuild of the same projection is running; the reason of `stop`
 */
export const rebuild = (
  source: Source,
  projection: Projection,
  onProgress?: (position: bigint) => void,
  stop?: AbortSignal,
): Promise<void> => {
  const target = { projection, schema: `read_next_${projection.name}` };
  const told = (position: bigint): void => {
    stop?.throwIfAborted();
    onProgress?.(position);
  };
  return withTablesBeside(source.pool, [target], 'A rebuild', async (guard) => {
    const backoff = new Backoff(FIRST_BACK_OFF_MS, MAX_BACK_OFF_MS);
    let position = BEGINNING;
    for (let attempt = 1; ; attempt += 1) {
      position = await applyUpToLive(source, target, position, told);
      try {
        position = await switchOver(source, target, guard, position);
        break;
      } catch (error) {
        if (attempt === MAX_TRIES || !CONTENDED.has((error as { code?: unknown }).code)) throw error;
      }
      await pause(backoff.next(), stop);
      stop?.throwIfAborted();
    }
    onProgress?.(position);
  });
};

/** @returns the position at which the tables were switched */
const switchOver = async (source: Source, target: Target, guard: PoolClient, position: bigint): Promise<bigint> => {
  const { projection, schema } = target;
  const live = readModelsOver(guard).withSchema('read');
  try {
    await guard.query(`begin; set local lock_timeout = ${LOCK_TIMEOUT_MS}; set local statement_timeout = 0`);
    // From here on the live projector waits, so that the new tables can reach exactly its position.
    const upTo = await livePosition(live, projection, { lock: true });
    if (position > upTo)
      throw new Error(`The checkpoint of "${projection.name}" went back from ${position} to ${upTo}: rebuild it again`);
    // Committed before the switch, so that no reader can find the new tables without the last events.
    await applyLog(source, [target], { after: position, upTo });
    for (const table of projection.tables)
      await guard.query(`drop table read."${table}"; alter table "${schema}"."${table}" set schema read`);
    await live
      .updateTable('checkpoints')
      .set({ version: versionOf(projection) })
      .where('projection', '=', projection.name)
      .execute();
    await live.deleteFrom('parked_events').where('projection', '=', projection.name).execute();
    await guard.query(`insert into read.parked_events select * from "${schema}".parked_events`);
    await guard.query('commit');
    return upTo;
  } catch (error) {
    await guard.query('rollback').catch(() => {});
    throw error;
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
  source: Source,
  projections: readonly Projection[],
  { say, warn }: { readonly say: (line: string) => void; readonly warn: (line: string) => void },
  stop: AbortSignal,
): Promise<void> => {
  try {
    for (const projection of await findOutdated(source.pool, projections)) {
      say(`Rebuilding the read model of "${projection.name}", whose rows are of an earlier version`);
      await rebuild({ ...source, onWait: warn, stop }, projection, undefined, stop);
      say(`Rebuilt the read model of "${projection.name}"`);
    }
  } catch (error) {
    if (!stop.aborted) warn(`A read model was not rebuilt: ${error instanceof Error ? error.message : String(error)}`);
  }
};
