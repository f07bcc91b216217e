import type { Pool } from 'pg';
import type { Projection } from '../projections/engine/projection.js';
import { register } from '../projections/register/projection.js';
import { PROJECTIONS } from '../projections/registry.js';
import { type Fact, factsOf } from '../src/events/facts.js';
import { Projector } from '../projections/engine/projector.js';
import { type Batch, BEGINNING, EventLog, type Place, type RecordedEvent } from '../src/event-log/event-log.js';
import { parseEvent, type UpstreamEvent } from '../src/events/event.js';
import type { Sent } from '../test/support/upstream.js';
import type { Database } from './database.js';
import { storedEvents, upstreamEvents } from './events.js';
import type { Bench } from './goal.js';
import type { Slice } from './paired.js';
import { openLog } from './services.js';

/** The projections without the register: the metrics, and those that have few events. */
const COUNTS = PROJECTIONS.filter(({ name }) => name !== 'register');
/** The projection of the lists and the feed. */
export const REGISTER = [register];

/** Events that are appended before they are projected. */
const STEP = 100_000;
/** Small enough that a quick run projects in several steps. */
const QUICK_STEP = 4_000;
/** Events that are appended together. */
const BATCH = 1_000;

export interface FilledLog {
  readonly database: Database;
  readonly log: EventLog;
  /** The position before the first event of the log. Omitted if the log starts at the beginning of its store. */
  readonly origin?: bigint;
  readonly events: number;
}

/** Creates a log with many upstream events that have not been projected, once per run. */
export const filledLog = (bench: Bench): Promise<FilledLog> =>
  bench.shared('log', () => fillLog(bench, bench.sizes.events));

const fillLog = async (bench: Bench, events: number): Promise<FilledLog> => {
  const database = await bench.database();
  const log = await openLog(bench, database);
  bench.say(`Fills a log with ${events.toLocaleString('en-US')} events`);
  const entries = storedEvents(upstreamEvents(events));
  for (let from = 0; from < entries.length; from += BATCH) await log.appendAll(entries.slice(from, from + BATCH));
  await database.pool.query('vacuum analyze log.events');
  return { database, log, events };
};

/**
 * Appends upstream events to a log until it has `count` of them, and projects them. All projections share transactions,
 * as in a projector.
 * @returns the duration of appending and of projecting, in ms
 */
export const growLog = async (
  bench: Bench,
  { database, log, events: known }: FilledLog,
  count: number,
): Promise<{ readonly appendMs: number; readonly projectMs: number }> => {
  let [appendMs, projectMs, events] = [0, 0, known];
  const step = bench.sizes.quick ? QUICK_STEP : STEP;
  while (events < count) {
    const entries = storedEvents(upstreamEvents(Math.min(step, count - events), 1 + events / step));
    const from = performance.now();
    for (let n = 0; n < entries.length; n += BATCH) await log.appendAll(entries.slice(n, n + BATCH));
    const appendedAt = performance.now();
    appendMs += appendedAt - from;
    events += entries.length;
    const filled = { database, log, events };
    const isEnough = (reached: bigint): boolean => reached >= BigInt(filled.events);
    await project(filled, database.pool, isEnough, PROJECTIONS);
    projectMs += performance.now() - appendedAt;
    bench.say(`The log has ${events.toLocaleString('en-US')} events`);
  }
  return { appendMs, projectMs };
};

/** The part of a log after `origin`. Calls `onBatchDone` after each batch has been processed. */
class LogAfterOrigin extends EventLog {
  readonly positionUnit = 'events';

  constructor(
    private readonly log: EventLog,
    private readonly origin: bigint,
    private readonly onBatchDone: (batch: Batch) => void,
  ) {
    super();
  }

  subscribe(after: bigint, onBatch: (batch: Batch) => Promise<void>, signal: AbortSignal): Promise<void> {
    return this.log.subscribe(
      after === BEGINNING ? this.origin : after,
      async (batch) => {
        await onBatch(batch);
        this.onBatchDone(batch);
      },
      signal,
    );
  }

  head = (): Promise<bigint> => this.log.head();
  id = (): Promise<string> => this.log.id();
  readAll = (after: bigint, limit: number): Promise<RecordedEvent[]> => this.log.readAll(after, limit);
  readStream = (stream: string, from: bigint, limit: number): Promise<RecordedEvent[]> =>
    this.log.readStream(stream, from, limit);
  override has = (place: Place): Promise<boolean> => this.log.has(place);
  find = (): never => this.refuse();
  eventsAt = (): never => this.refuse();
  store = (): never => this.refuse();
  storeAll = (): never => this.refuse();
  close = (): never => this.refuse();

  private refuse(): never {
    throw new Error('LogAfterOrigin is read-only');
  }
}

/**
 * Runs projections from their checkpoint until `isEnough` returns true for the reached position.
 * @returns the reached position
 * @throws Error with the messages that the projector reported
 */
export const project = async (
  { log, origin = BEGINNING }: FilledLog,
  pool: Pool,
  isEnough: (reached: bigint) => boolean,
  projections: readonly Projection[] = COUNTS,
): Promise<bigint> => {
  const stop = new AbortController();
  let reached = BEGINNING;
  const logAfterOrigin = new LogAfterOrigin(log, origin, (batch) => {
    reached = batch.position;
    if (isEnough(reached)) stop.abort();
  });
  const messages: string[] = [];
  await new Projector(logAfterOrigin, pool, projections, { onError: (sentence) => messages.push(sentence) }).run(
    stop.signal,
  );
  if (messages.length > 0) throw new Error(`The projector reported problems: ${messages.join('; ')}`);
  return reached;
};

/** Empties the read models. */
export const truncateReadModels = async (pool: Pool): Promise<void> => {
  const tables = ['checkpoints', ...PROJECTIONS.flatMap((projection) => projection.tables)];
  await pool.query(`truncate ${tables.map((table) => `read.${table}`).join(', ')}`);
};

/** A slice that projects the log. It empties the read models and starts over when few events are left. */
export const catchUp = (filled: FilledLog, pool: Pool, projections: readonly Projection[] = COUNTS): Slice => {
  let reached = BEGINNING;
  return async (ms) => {
    if (reached > (BigInt(filled.events) * 2n) / 3n) {
      await truncateReadModels(pool);
      reached = BEGINNING;
    }
    const before = reached;
    const from = performance.now();
    const isEnough = (at: bigint): boolean => performance.now() - from >= ms || at >= BigInt(filled.events);
    reached = await project(filled, pool, isEnough, projections);
    return (Number(reached - before) * 1000) / (performance.now() - from);
  };
};

/** Returns the facts of events. The record of each fact is the id of its event, so that all facts are distinct. */
export const factsOfAll = (events: readonly Sent[]): { readonly fact: Fact; readonly record: string }[] =>
  events.flatMap(({ id, type, data }) => {
    const { event } = parseEvent(type, data);
    return factsOf(event as UpstreamEvent).map((fact) => ({ fact, record: id }));
  });
