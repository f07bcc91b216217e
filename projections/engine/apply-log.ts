import type { Pool, PoolClient } from 'pg';
import { BEGINNING, type Batch, type EventLog } from '../../src/event-log/event-log.js';
import { type Patience, readPatiently } from '../../src/event-log/read-patiently.js';
import { pause } from '../../src/flow/retry.js';
import { isReadOnly } from '../../src/postgres/transient-errors.js';
import { createReadModels } from '../../src/read-models/kysely.js';
import { applyByHalves, applyShare } from './parking.js';
import { livePosition } from './checkpoints.js';
import type { Projection } from './projection.js';
import { dispatchBatch, SUSPECT_LIMIT_MS } from './projector.js';
import { INDEXES_BESIDE, OPTIONS_OF_TABLE, TRY_LOCK, UNLOCK_ALL } from './statements.js';
import { NotApplied, Suspicion } from './suspicion.js';
import { type ProjectorTransaction, STATEMENT_LIMIT_MS, transact } from './transaction.js';

const PAGE = 2_000;
/** What is applied while the live projector waits must take no longer. ms */
const LEFT_FOR_HOLD_MS = 500;
/** Pause before a retry. */
const PAUSE_MS = 50;

/** What `like` leaves out: the storage parameters, and the names of the indexes, by which migrations know them. */
const likenTable = async (pool: Pool, schema: string, table: string): Promise<void> => {
  const options = await OPTIONS_OF_TABLE.run(pool, { table });
  if (options.length > 0)
    await pool.query(`alter table "${schema}"."${table}" set (${options.map(({ option }) => option).join(', ')})`);
  for (const { name, live } of await INDEXES_BESIDE.run(pool, { schema, table }))
    if (name !== live) await pool.query(`alter index "${schema}"."${name}" rename to "${live}"`);
};

/**
 * Creates a schema with empty copies of a projection's tables, replacing what an interrupted run left. They can take the
 * place of the live ones: a schema has names of its own for indexes.
 */
const createSchemaBeside = async (pool: Pool, schema: string, projection: Projection): Promise<void> => {
  await pool.query(`drop schema if exists "${schema}" cascade; create schema "${schema}"`);
  for (const table of [...projection.tables, 'parked_events']) {
    await pool.query(`create table "${schema}"."${table}" (like read."${table}" including all)`);
    await likenTable(pool, schema, table);
  }
};

/** Where rows are made, and of what. `onWait` and `stop` are for the times when the log is unavailable. */
export interface Source extends Patience {
  readonly pool: Pool;
  readonly log: EventLog;
}

/** A projection and the schema of the tables to fill. */
export interface Target {
  readonly projection: Projection;
  readonly schema: string;
}

/**
 * Does work with empty tables of projections beside the live ones, which only one may do at a time, and drops them.
 * @param what the work, as a sentence begins with it
 * @param work with the connection that holds the lock. Rows are committed without waiting for the disk; a server that
 *   may have lost them has lost this connection too, so what depends on them all is done on it
 * @throws if somebody else is at it
 */
export const withTablesBeside = async <Result>(
  pool: Pool,
  targets: readonly Target[],
  what: string,
  work: (guard: PoolClient) => Promise<Result>,
): Promise<Result> => {
  const guard = await pool.connect();
  const mine: string[] = [];
  let broken: unknown;
  try {
    for (const { projection, schema } of targets) {
      const [row] = await TRY_LOCK.run(guard, { lock: schema });
      if (!row!.locked) throw new Error(`${what} of "${projection.name}" is already running; wait until it has ended`);
      mine.push(schema);
    }
    for (const { projection, schema } of targets) await createSchemaBeside(pool, schema, projection);
    return await work(guard);
  } catch (error) {
    if (isReadOnly(error)) broken = error;
    throw error;
  } finally {
    // What cannot be dropped now the next run replaces.
    for (const schema of mine) await pool.query(`drop schema if exists "${schema}" cascade`).catch(() => {});
    await UNLOCK_ALL.run(guard, {}).catch((error: unknown) => {
      broken = error;
    });
    // A connection that does not answer, or whose server takes no writes, is not reused.
    guard.release(broken !== undefined);
  }
};

interface Piece extends Pick<Batch, 'events' | 'position'> {
  readonly after: bigint;
}

/**
 * Applies the log, read once, to projections' tables in other schemas. Waits for a log that is unavailable.
 * @param after the position reached before
 * @param upTo the last position to apply; undefined: the head as of now
 * @returns the position reached
 * @throws Unavailable if the log stays unavailable for 60 s
 * @throws NotApplied, naming the position, if an event could not be applied
 */
export const applyLog = async (
  { pool, log, ...patience }: Source,
  targets: readonly Target[],
  {
    after = BEGINNING,
    upTo,
    onProgress,
  }: { after?: bigint; upTo?: bigint; onProgress?: (position: bigint) => void } = {},
): Promise<bigint> => {
  const suspicion = new Suspicion();
  let position = after;
  while (upTo === undefined || position < upTo) {
    const page = await readPatiently(() => log.readAll(position, PAGE), patience);
    const events = upTo === undefined ? page : page.filter((event) => event.position <= upTo);
    const last = events.at(-1);
    if (!last) break;
    for (const piece of suspicion.cut({ events, position: last.position })) {
      try {
        await applyPiece(pool, targets, { ...piece, after: position }, suspicion);
      } catch (error) {
        if (!(error instanceof NotApplied) || !suspicion.failed(piece, error)) throw error;
        await pause(PAUSE_MS);
        break;
      }
      suspicion.passed(piece);
      ({ position } = piece);
      onProgress?.(position);
    }
    if (position === last.position && (page.length < PAGE || events.length < page.length)) break;
  }
  return position;
};

/**
 * Applies the log as far as the live tables have it: never further, for they may stay behind.
 * @returns the position reached, shortly before theirs
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
    const began = performance.now();
    await applyLog(source, [target], { after: position, upTo, onProgress });
    position = upTo;
    if (performance.now() - began < LEFT_FOR_HOLD_MS) return position;
  }
};

const applyPiece = async (
  pool: Pool,
  targets: readonly Target[],
  { events, position, after }: Piece,
  suspicion: Suspicion,
): Promise<void> => {
  const projections = targets.map(({ projection }) => projection);
  const checkpoints = projections.map(({ name }) => ({ projection: name, position: after }));
  const shares = await dispatchBatch(projections, checkpoints, { events, position });
  const statementMs = events.length > 1 && suspicion.isAt(events[0]!.position) ? SUSPECT_LIMIT_MS : STATEMENT_LIMIT_MS;
  for (const [index, share] of shares.entries()) {
    const { projection, events: own, prepared, unreadable, dropped } = share;
    if (own.length + unreadable.length + dropped.length === 0) continue;
    const work = (transaction: ProjectorTransaction): Promise<unknown> =>
      applyShare(transaction, share, suspicion, () => applyByHalves(transaction, projection, own, prepared));
    await transact(pool, targets[index]!.schema, work, { statementMs });
  }
};
