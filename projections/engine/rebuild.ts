import type { Pool, PoolClient, QueryConfig } from 'pg';
import { Backoff, pause } from '../../src/flow/time.js';
import { limit } from '../../src/limits.js';
import { readWithRetries } from '../../src/event-log/read-streams.js';
import { inTransaction } from '../../src/postgres/transaction.js';
import { EXPORT_APPLICATION_NAME } from '../../src/read-models/pools.js';
import { createReadModels, readModelsOver } from '../../src/read-models/tables.js';
import { type Projection, versionOf } from './projection.js';
import {
  applyLog,
  applyUpToLive,
  BEGIN_HOLDING,
  type Source,
  type Target,
  whileHolding,
  withShadowTables,
} from './apply-log.js';
import { livePosition } from './checkpoints.js';
import {
  ACCESS_OF_TABLE,
  CANCEL_BACKEND,
  CREATE_MISSING_INDEXES,
  END_EXPORTS,
  END_WITH_CLIENT,
  READ_BACKEND,
} from './shadow-tables-sql.js';
import { type Decisions, readDecisions } from './decisions.js';
import { ApplyError } from './poison-events.js';

/**
 * Lock timeout for replacing the live tables. While the switch waits for the lock of a table, new readers of that table
 * wait too. After a timeout, the switch is rolled back and retried.
 */
const LOCK_TIMEOUT_MS = 500;
const MIN_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 30_000;
/** The time for readers, such as a backup, to leave the tables of a projection. */
const SWITCH_TIMEOUT_MS = limit('switch of a rebuild', 3_600_000, 'ms', 'process', 'the rebuild fails');
/** The attempts that give way to CSV exports. The next ones end them, because exports of many clients never pause. */
const PATIENT_ATTEMPTS = 5;
/** How long an attempt waits until it ends exports: new readers wait behind it by then. */
const END_EXPORTS_AFTER_MS = 100;
/** The time for one index of a filled table, whose build sorts the whole table. */
const INDEX_TIMEOUT_MS = limit('index of a rebuild', 6 * 3_600_000, 'ms', 'process', 'the rebuild fails');
/** The pauses between attempts to rebuild an outdated projection, which may take hours. */
const MIN_RETRY_DELAY_MS = 1_000;
const MAX_RETRY_DELAY_MS = 60_000;
/** SQLSTATEs of a missing table or schema, after which a rebuild starts again, and the maximum number of attempts. */
const UNDEFINED: ReadonlySet<unknown> = new Set(['42P01', '3F000']);
const MAX_DROPPED = 3;
/**
 * SQLSTATEs of lock timeouts and deadlocks, after which the switch is retried. Other errors are not retried: if the
 * connection was lost, the server may have crashed and lost rows of the shadow tables.
 */
const LOCK_CONFLICTS: ReadonlySet<unknown> = new Set(['55P03', '40P01']);

/**
 * Rebuilds projections in shadow tables, for which the log is read once, and then replaces the live tables of each
 * projection atomically: readers see either all old rows or all new rows of it. The live projector may be running, behind
 * or stopped. A failure leaves the live tables of the projections that have not been replaced unchanged.
 * @param onProgress called with the position reached
 * @param stop aborts the rebuild and leaves the live tables unchanged
 * @throws Error if another rebuild of one of the projections is running; `stop.reason` if `stop` aborts
 */
export const rebuild = async (
  source: Source,
  projections: readonly Projection[],
  onProgress?: (position: bigint) => void,
  stop?: AbortSignal,
): Promise<void> => {
  for (let attempt = 1; ; attempt += 1)
    try {
      await rebuildOnce(source, projections, onProgress, stop);
      return;
    } catch (error) {
      // The erasure of an organization drops shadow tables, because they may contain its rows.
      const { code } = (error instanceof ApplyError ? error.cause : error) as { code?: unknown };
      if (attempt === MAX_DROPPED || !(UNDEFINED.has(code) || error instanceof DecidedMeanwhile)) throw error;
    }
};

/** An event was parked, dropped or retried that the rebuild may have applied elsewhere. */
class DecidedMeanwhile extends Error {
  constructor() {
    super('Events are being parked, dropped or retried; start the rebuild again afterwards');
  }
}

const rebuildOnce = (
  source: Source,
  projections: readonly Projection[],
  onProgress?: (position: bigint) => void,
  stop?: AbortSignal,
): Promise<void> => {
  const targets = projections.map((projection) => ({ projection, schema: `read_next_${projection.name}` }));
  const reportProgress = (position: bigint): void => {
    stop?.throwIfAborted();
    onProgress?.(position);
  };
  return withShadowTables(source.pool, targets, 'A rebuild', async (lockConnection) => {
    const live = createReadModels(source.pool);
    const positions = await Promise.all(projections.map((projection) => livePosition(live, projection)));
    const lowest = positions.reduce((one, other) => (other < one ? other : one));
    const decisions = await decisionsOf(source);
    const reached = await applyLog(source, targets, { upTo: lowest, onProgress: reportProgress });
    for (const [n, target] of targets.entries()) {
      await createMissingIndexes(source.pool, target, stop);
      const backoff = new Backoff(MIN_BACKOFF_MS, MAX_BACKOFF_MS);
      const deadline = performance.now() + SWITCH_TIMEOUT_MS;
      let position = reached;
      for (let attempt = 1; ; attempt += 1) {
        position = await applyUpToLive(source, target, position, reportProgress);
        try {
          const filled = { lockConnection, position, decisions, begunAt: positions[n]! };
          const endsExports = attempt > PATIENT_ATTEMPTS;
          position = await whileHolding(source, (held) => switchOver(held, target, filled, endsExports));
          break;
        } catch (error) {
          if (!LOCK_CONFLICTS.has((error as { code?: unknown }).code)) throw error;
          if (performance.now() > deadline)
            throw new Error(`Another program reads the tables of "${target.projection.name}" all the time`, {
              cause: error,
            });
        }
        await pause(backoff.next(), stop);
        stop?.throwIfAborted();
      }
      onProgress?.(position);
    }
  });
};

/** Creates the indexes that the shadow tables lack, before the switch, because readers wait during the switch. */
const createMissingIndexes = async (
  pool: Pool,
  { projection, schema }: Target,
  stop: AbortSignal | undefined,
): Promise<void> => {
  const begin = `begin; set local statement_timeout = ${INDEX_TIMEOUT_MS}`;
  for (const table of projection.indexedForReaders ?? [])
    for (const { command } of await CREATE_MISSING_INDEXES.run(pool, { schema, table }))
      await inTransaction(pool, (connection) => createIndex(pool, connection, command, stop), begin);
};

const createIndex = async (
  pool: Pool,
  connection: PoolClient,
  command: string,
  stop: AbortSignal | undefined,
): Promise<void> => {
  // Otherwise the next rebuild would wait for an index of a process that was killed.
  await END_WITH_CLIENT.run(connection, {});
  const [backend] = await READ_BACKEND.run(connection, {});
  const cancel = (): void => void CANCEL_BACKEND.run(pool, backend!).catch(() => {});
  stop?.addEventListener('abort', cancel, { once: true });
  try {
    stop?.throwIfAborted();
    await connection.query({ text: command, query_timeout: INDEX_TIMEOUT_MS } as QueryConfig);
  } catch (error) {
    stop?.throwIfAborted();
    throw error;
  } finally {
    stop?.removeEventListener('abort', cancel);
  }
};

const decisionsOf = ({ pool, log, ...retryOptions }: Source): Promise<Decisions> =>
  readWithRetries(() => readDecisions(pool, log), retryOptions);

/** What a rebuild has done before the switch. */
interface Filled {
  readonly lockConnection: PoolClient;
  /** The position of the shadow tables. */
  readonly position: bigint;
  /** The position of the live tables when the rebuild began. */
  readonly begunAt: bigint;
  /** What had been decided then. */
  readonly decisions: Decisions;
}

/**
 * @param endsExports whether CSV exports that read the tables are ended
 * @returns the position at which the tables were switched
 */
const switchOver = async (
  source: Source,
  target: Target,
  { lockConnection, position, begunAt, decisions }: Filled,
  endsExports: boolean,
): Promise<bigint> => {
  const { projection, schema } = target;
  const { name } = projection;
  const live = readModelsOver(lockConnection).withSchema('read');
  try {
    await lockConnection.query(
      `${BEGIN_HOLDING}; set local lock_timeout = ${LOCK_TIMEOUT_MS}; set local statement_timeout = 0`,
    );
    // The lock makes the live projector wait, so that the new tables can reach exactly the position of the live tables.
    const upTo = await livePosition(live, projection, { lock: true });
    if (position > upTo)
      throw new Error(
        `The checkpoint of "${projection.name}" moved back from ${position} to ${upTo}; start the rebuild again`,
      );
    // The rows of the last events are committed before the switch, so that the new tables are complete when readers
    // first see them.
    await applyLog(source, [target], { after: position, upTo });
    if (!(await decisionsOf(source)).agreesWith(decisions, name, begunAt)) throw new DecidedMeanwhile();
    for (const table of projection.tables) {
      const access = await ACCESS_OF_TABLE.run(lockConnection, { table });
      const ending = endsExports ? setTimeout(() => endExports(source.pool, table), END_EXPORTS_AFTER_MS) : undefined;
      try {
        await lockConnection.query(`drop table read."${table}"; alter table "${schema}"."${table}" set schema read`);
      } finally {
        clearTimeout(ending);
      }
      for (const { command } of access) await lockConnection.query(command);
    }
    await live
      .updateTable('checkpoints')
      .set({ version: versionOf(projection) })
      .where('projection', '=', name)
      .execute();
    // An event that stays parked keeps its reason and its attempts.
    const rebuilt = readModelsOver(lockConnection).withSchema(schema);
    await live
      .deleteFrom('parked_events')
      .where('projection', '=', name)
      .where('event_id', 'not in', rebuilt.selectFrom('parked_events').select('event_id'))
      .execute();
    await lockConnection.query(
      `insert into read.parked_events select * from "${schema}".parked_events on conflict do nothing`,
    );
    await lockConnection.query('commit');
    return upTo;
  } catch (error) {
    await lockConnection.query('rollback').catch(() => {});
    throw error;
  }
};

/** A failure means that the switch waits for the exports, as if they had not been ended. */
const endExports = (pool: Pool, table: string): void =>
  void END_EXPORTS.run(pool, { table, application: EXPORT_APPLICATION_NAME }).catch(() => {});

/** The projections whose rows were written by an earlier version of the projection. */
const findOutdated = async (pool: Pool, projections: readonly Projection[]): Promise<Projection[]> => {
  const rows = await createReadModels(pool).selectFrom('checkpoints').select(['projection', 'version']).execute();
  const versions = new Map(rows.map(({ projection, version }) => [projection, version]));
  return projections.filter(
    (projection) => (versions.get(projection.name) ?? versionOf(projection)) < versionOf(projection),
  );
};

/**
 * Rebuilds projections whose rows are of an earlier version, with one read of the log. The old rows are served meanwhile,
 * and also after a failure. A failed rebuild is retried until `stop` aborts. Never rejects.
 */
export const rebuildOutdated = async (
  source: Source,
  projections: readonly Projection[],
  { say, warn }: { readonly say: (line: string) => void; readonly warn: (line: string) => void },
  stop: AbortSignal,
  backoff = new Backoff(MIN_RETRY_DELAY_MS, MAX_RETRY_DELAY_MS),
): Promise<void> => {
  const rebuildAll = async (outdated: readonly Projection[]): Promise<void> => {
    stop.throwIfAborted();
    await rebuild({ ...source, onWait: warn, stop }, outdated, undefined, stop);
    for (const { name } of outdated) say(`Rebuilt the read model of "${name}"`);
  };
  /** The other projections must not wait for a projection whose rebuild never succeeds. */
  const rebuildEach = async (outdated: readonly Projection[]): Promise<void> => {
    const failures: unknown[] = [];
    for (const projection of outdated) await rebuildAll([projection]).catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw failures[0];
  };
  for (let isTogether = true; !stop.aborted; isTogether = !isTogether)
    try {
      const outdated = await findOutdated(source.pool, projections);
      if (outdated.length === 0) return;
      for (const { name } of outdated)
        say(`Rebuilding the read model of "${name}", whose rows are of an earlier version`);
      return await (isTogether ? rebuildAll : rebuildEach)(outdated);
    } catch (error) {
      if (stop.aborted) return;
      const delayMs = backoff.next();
      warn(
        `A read model could not be rebuilt; the next attempt begins in ${Math.ceil(delayMs / 1_000)} s: ` +
          (error instanceof Error ? error.message : String(error)),
      );
      await pause(delayMs, stop);
    }
};
