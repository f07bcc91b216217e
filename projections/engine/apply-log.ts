import type { Pool, PoolClient } from 'pg';
import { BEGINNING, type Batch, type EventLog } from '../../src/event-log/event-log.js';
import { type RetryOptions, readWithRetries } from '../../src/event-log/read-streams.js';
import { pause } from '../../src/flow/time.js';
import { inTransaction } from '../../src/postgres/transaction.js';
import { isReadOnly } from '../../src/postgres/transient-errors.js';
import { SHADOW_SCHEMAS } from '../../src/read-models/erasures.js';
import { createReadModels } from '../../src/read-models/tables.js';
import { boundTimes } from './bounded-times.js';
import { readRetried } from './parked.js';
import { readDecisions } from './decisions.js';
import { applyByBisection, applyOrPark } from './parking.js';
import { livePosition } from './checkpoints.js';
import {
  DROP_SECONDARY_INDEXES,
  SHADOW_INDEXES,
  STORAGE_PARAMETERS,
  TRY_LOCK,
  TRY_LOCK_UNTIL_COMMIT,
  UNLOCK_ALL,
} from './shadow-tables-sql.js';
import { dispatchBatch, type ProjectionBatch } from './dispatch-batch.js';
import { PipelinedWriter, ISOLATION_STATEMENT_TIMEOUT_MS } from './projector.js';
import { type Projection, type ProjectorTransaction, STATEMENT_TIMEOUT_MS, transact } from './projection.js';
import { ApplyError, PoisonEventIsolation } from './poison-events.js';

const PAGE_SIZE = 2_000;
/**
 * Maximum time for applying the last events, because the live projector waits meanwhile. The time is a goal and not a
 * guarantee.
 */
const MAX_CATCH_UP_MS = 500;
const RETRY_DELAY_MS = 50;
/** Maximum number of connections that write a piece at the same time, each for another projection. */
const WRITERS = 2;

/**
 * Copies what `create table like` does not copy: storage parameters, and the names of indexes, which migrations refer
 * to.
 */
const copyTableOptions = async (pool: Pool, schema: string, table: string): Promise<void> => {
  const options = await STORAGE_PARAMETERS.run(pool, { table });
  if (options.length > 0)
    await pool.query(`alter table "${schema}"."${table}" set (${options.map(({ option }) => option).join(', ')})`);
  for (const { name, live } of await SHADOW_INDEXES.run(pool, { schema, table }))
    if (name !== live) await pool.query(`alter index "${schema}"."${name}" rename to "${live}"`);
};

/**
 * Creates a schema with empty copies of the tables of a projection. Drops the schema first if an interrupted run left
 * the schema behind. The copies have the same index names as the live tables, so that they can replace the live tables.
 */
const createShadowSchema = async (pool: Pool, schema: string, projection: Projection): Promise<void> => {
  await pool.query(`drop schema if exists "${schema}" cascade; create schema "${schema}"`);
  for (const table of [...projection.tables, 'parked_events']) {
    await pool.query(`create table "${schema}"."${table}" (like read."${table}" including all)`);
    await copyTableOptions(pool, schema, table);
  }
  for (const table of projection.indexedForReaders ?? [])
    for (const { command } of await DROP_SECONDARY_INDEXES.run(pool, { schema, table })) await pool.query(command);
};

const dropSchema = async (connection: Pool | PoolClient, schema: string): Promise<void> => {
  await connection.query(`drop schema if exists "${schema}" cascade`);
};

/**
 * How long a transaction that holds the checkpoint may wait for the last events to be applied, in ms. The work before the
 * lock leaves few of them, so one statement may reach its timeout.
 */
const HELD_MS = 2 * STATEMENT_TIMEOUT_MS;
/** Begins a transaction that holds the checkpoint while the last events are applied. */
export const BEGIN_HOLDING = `begin; set local idle_in_transaction_session_timeout = ${HELD_MS}`;

/**
 * Runs work in which a transaction holds the checkpoint. The work does not wait for an unavailable log, because the live
 * projector waits for the checkpoint: the work fails, which ends its transaction, and is repeated for at most 60 s.
 * @throws Unavailable if the log stays unavailable; any other error of `work`
 */
export const whileHolding = <Result>(source: Source, work: (impatient: Source) => Promise<Result>): Promise<Result> =>
  readWithRetries(() => work({ ...source, onWait: undefined, timeoutMs: 0 }), source);

/** The log to read and the database to write. `onWait` and `stop` apply while the log is unavailable. */
export interface Source extends RetryOptions {
  readonly pool: Pool;
  readonly log: EventLog;
}

/** A projection and the schema of the tables to fill. */
export interface Target {
  readonly projection: Projection;
  readonly schema: string;
}

/**
 * Creates empty shadow tables of projections, runs `work`, and drops the shadow tables. An advisory lock prevents
 * concurrent runs.
 * @param what the name of the work, which begins the error message: `A rebuild`
 * @param work receives the connection that holds the lock. Commits do not wait for the disk, so a crash of the server
 *   loses rows. A crash also closes this connection, so `work` must use this connection for everything that relies on
 *   the rows
 * @throws if another run for one of the projections is in progress
 */
export const withShadowTables = async <Result>(
  pool: Pool,
  targets: readonly Target[],
  what: string,
  work: (lockConnection: PoolClient) => Promise<Result>,
): Promise<Result> => {
  const lockConnection = await pool.connect();
  const locked: string[] = [];
  let connectionError: unknown;
  try {
    for (const { projection, schema } of targets) {
      const [row] = await TRY_LOCK.run(lockConnection, { lock: schema });
      if (!row!.locked)
        throw new Error(`${what} of "${projection.name}" is already running; wait until it has finished`);
      locked.push(schema);
    }
    for (const { projection, schema } of targets) await createShadowSchema(pool, schema, projection);
    return await work(lockConnection);
  } catch (error) {
    if (isReadOnly(error)) connectionError = error;
    throw error;
  } finally {
    // If a schema cannot be dropped now, the next run drops it.
    for (const schema of locked) await dropSchema(pool, schema).catch(() => {});
    await UNLOCK_ALL.run(lockConnection, {}).catch((error: unknown) => {
      connectionError = error;
    });
    // A connection that failed, or whose server is read-only, must not return to the pool.
    lockConnection.release(connectionError !== undefined);
  }
};

/**
 * Drops the shadow tables that killed runs have left, because they keep contents that were removed from the log and the
 * live tables since. Those of a run in progress stay: the run reads the removal in the log.
 */
export const dropAbandonedTables = async (pool: Pool): Promise<void> => {
  for (const { name } of await SHADOW_SCHEMAS.run(pool, {}))
    await inTransaction(pool, async (connection) => {
      const [row] = await TRY_LOCK_UNTIL_COMMIT.run(connection, { lock: name });
      if (row!.locked) await dropSchema(connection, name);
    });
};

/** A piece of the log, prepared for each projection, and the position before it. */
interface Piece extends Pick<Batch, 'events' | 'position'> {
  readonly parts: readonly ProjectionBatch[];
}

/**
 * Reads the log once and applies it to the shadow tables of projections. While a piece is written, the next one is read
 * and prepared, so that memory holds two pages at most. Waits while the log is unavailable.
 * @param after the last position that has been applied
 * @param upTo the last position to apply
 * @returns the position reached
 * @throws Unavailable if the log stays unavailable for 60 s
 * @throws ApplyError, naming the position, if an event could not be applied
 */
export const applyLog = async (
  { pool, log, ...retryOptions }: Source,
  targets: readonly Target[],
  {
    after = BEGINNING,
    upTo,
    onProgress,
  }: { after?: bigint; upTo: bigint; onProgress?: ((position: bigint) => void) | undefined },
): Promise<bigint> => {
  const isolation = new PoisonEventIsolation();
  const projections = targets.map(({ projection }) => projection);
  let written = after;
  const write = async (piece: Piece): Promise<void> => {
    try {
      await applyPiece(pool, targets, piece, isolation);
    } catch (error) {
      if (!(error instanceof ApplyError) || !isolation.failed(piece, error)) throw error;
      throw new Retried();
    }
    isolation.succeeded(piece);
    written = piece.position;
    onProgress?.(written);
  };
  const decisions = await readWithRetries(() => readDecisions(pool, log), retryOptions);
  const neverAborted = new AbortController().signal;
  for (let isComplete = false; !isComplete;) {
    const writer = new PipelinedWriter<Piece>((piece, onStarted) => {
      onStarted();
      return write(piece);
    }, neverAborted);
    try {
      for (let read = written; read < upTo;) {
        const page = await readWithRetries(() => log.readAll(read, PAGE_SIZE), retryOptions);
        const events = page.filter((event) => event.position <= upTo);
        const last = events.at(-1);
        if (!last) break;
        for (const { events: own, position } of isolation.split({ events, position: last.position })) {
          const checkpoints = projections.map(({ name }) => ({ projection: name, position: read }));
          const { timeOf } = await boundTimes(pool, own);
          const piece = { events: own, position, timeOf };
          const parts = await dispatchBatch(projections, checkpoints, piece, decisions, (retry) =>
            readWithRetries(() => readRetried(log, retry), retryOptions),
          );
          await writer.push({ events: own, position, parts });
          read = position;
        }
      }
      await writer.finish();
      isComplete = true;
    } catch (error) {
      // An error of the reading must not leave a transaction running.
      await writer.finish().catch(() => {});
      if (!(error instanceof Retried)) throw error;
      await pause(RETRY_DELAY_MS);
    }
  }
  return written;
};

/** A piece failed, and is read again from its first event on. */
class Retried extends Error {}

/**
 * Applies the log up to the checkpoint of the live tables. Because the checkpoint moves meanwhile, the step is repeated
 * until one repetition takes less than `MAX_CATCH_UP_MS`.
 * @returns the position reached, at most the position of the live tables
 */
export const applyUpToLive = async (
  source: Source,
  target: Target,
  after: bigint,
  onProgress?: (position: bigint) => void,
): Promise<bigint> => {
  const live = createReadModels(source.pool);
  for (let position = after; ;) {
    const upTo = await livePosition(live, target.projection);
    if (position >= upTo) return position;
    const startedAt = performance.now();
    await applyLog(source, [target], { after: position, upTo, onProgress });
    position = upTo;
    if (performance.now() - startedAt < MAX_CATCH_UP_MS) return position;
  }
};

/** Writes a piece to the tables of each projection, in a transaction for each, on two connections. */
const applyPiece = async (
  pool: Pool,
  targets: readonly Target[],
  { events, parts }: Piece,
  isolation: PoisonEventIsolation,
): Promise<void> => {
  const statementMs =
    events.length > 1 && isolation.isActiveAt(events[0]!.position)
      ? ISOLATION_STATEMENT_TIMEOUT_MS
      : STATEMENT_TIMEOUT_MS;
  const waiting = parts.entries();
  const writeEach = async (): Promise<void> => {
    for (const [index, part] of waiting) {
      const { events: own, recorded, prepared, unreadable, dropped, retried } = part;
      if (own.length + recorded.length + unreadable.length + dropped.length + retried.size === 0) continue;
      const work = (transaction: ProjectorTransaction): Promise<unknown> =>
        applyOrPark(transaction, part, isolation, () => applyByBisection(transaction, part, prepared));
      await transact(pool, targets[index]!.schema, work, { statementMs });
    }
  };
  // All writers have ended before an error is thrown, so that the piece can be written again.
  const results = await Promise.allSettled(Array.from({ length: WRITERS }, writeEach));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
};
