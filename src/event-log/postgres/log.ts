import type { Pool } from 'pg';
import { ConfigError } from '../../runtime/config.js';
import { migrate, missingMigrations } from '../../postgres/migrator.js';
import { asUnavailable, isTransient } from '../../postgres/transient-errors.js';
import {
  type Appended,
  type AppendedEvent,
  type Batch,
  BEGINNING,
  EventLog,
  type EventKey,
  type ExpectedRevision,
  type FoundEvent,
  MAX_PAGE_BYTES,
  type NewEvent,
  type PlacedEvent,
  type RecordedEvent,
  type StreamEvent,
  WrongExpectedRevision,
} from '../event-log.js';
import { appendLogOpened } from '../new-event.js';
import { LOG_MIGRATIONS } from './schema.js';
import {
  AWAIT_APPENDS,
  type EventRow,
  FIND,
  HEAD,
  READ_ALL,
  READ_NEXT,
  READ_PLACES,
  READ_STREAM,
  PostgresWriter,
} from './writer.js';
import { coalesce } from '../../flow/shared-work.js';
import { Backoff, pause } from '../../flow/time.js';

/** Maximum events per batch. */
const PAGE = 3_000;
/** Polling interval. */
const POLL_MS = 20;
const HEARTBEAT_MS = 250;
const MAX_BACK_OFF_MS = 2_000;

const recorded = (row: EventRow): RecordedEvent => ({
  position: BigInt(row.position),
  stream: row.stream,
  revision: BigInt(row.revision),
  id: row.event_id,
  type: row.type,
  data: row.data,
  metadata: row.metadata,
  recordedAt: row.recorded_at,
});

/** A page of the log, as a subscription delivers it. */
interface Page extends Batch {
  /** Whether the log may already have more events. */
  readonly isFull: boolean;
}

/**
 * The log in PostgreSQL. Positions are consecutive and in commit order (see `schema.ts`), so a subscription reads the
 * events after the last position that it has.
 */
export class PostgresLog extends EventLog {
  readonly positionUnit = 'events';
  override readonly forSubscriptions: EventLog;
  private readonly writer: PostgresWriter;
  private logId: string | undefined;

  constructor(
    private readonly pool: Pool,
    /** The connections of subscriptions and monitoring. */
    private readonly subscriptionPool = pool,
  ) {
    super();
    this.forSubscriptions = subscriptionPool === pool ? this : new PostgresLog(subscriptionPool);
    this.writer = new PostgresWriter(pool);
  }

  protected override async store(
    stream: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
  ): Promise<Appended> {
    if (events.length === 0) throw new RangeError(`Nothing to append to ${stream}`);
    const entries = await this.writer.append({
      entries: events.map((event) => ({ stream, event })),
      expected: expected === 'any' ? undefined : expected === 'no-stream' ? -1n : expected,
    });
    const last = entries.at(-1)!;
    if (last.outcome === 'conflict') {
      const actual = last.stream_revision < 0 ? 'no-stream' : BigInt(last.stream_revision);
      throw new WrongExpectedRevision(stream, expected, actual);
    }
    return {
      revision: BigInt(last.revision!),
      position: BigInt(last.position!),
      duplicate: entries.every(({ outcome }) => outcome === 'duplicate'),
    };
  }

  protected override async storeAll(entries: readonly StreamEvent[]): Promise<AppendedEvent[]> {
    if (entries.length === 0) return [];
    const results = await this.writer.append({ entries, expected: undefined });
    return results.map(({ outcome, position }) => ({
      position: BigInt(position!),
      duplicate: outcome === 'duplicate',
    }));
  }

  async readStream(stream: string, from: bigint, limit: number): Promise<RecordedEvent[]> {
    return (await orThrowUnavailable(READ_STREAM.run(this.pool, { stream, from, limit }))).map(recorded);
  }

  async find(keys: readonly EventKey[]): Promise<(FoundEvent | undefined)[]> {
    if (keys.length === 0) return [];
    const rows = await orThrowUnavailable(FIND.run(this.pool, { ids: keys.map(({ id }) => id) }));
    const found = new Map(
      rows.map(({ event_id, position, metadata, recorded_at }) => [
        event_id,
        { position: BigInt(position), metadata, recordedAt: recorded_at },
      ]),
    );
    return keys.map(({ id }) => found.get(id));
  }

  protected override async eventsAt(positions: readonly bigint[]): Promise<PlacedEvent[]> {
    const rows = await orThrowUnavailable(READ_PLACES.run(this.pool, { positions }));
    return rows.map((row) => ({ ...row, position: BigInt(row.position), revision: BigInt(row.revision) }));
  }

  async readAll(after: bigint, limit: number): Promise<RecordedEvent[]> {
    return (await orThrowUnavailable(READ_ALL.run(this.pool, { after, limit }))).map(recorded);
  }

  async subscribe(after: bigint, onBatch: (batch: Batch) => Promise<void>, signal: AbortSignal): Promise<void> {
    let position = after;
    const backoff = new Backoff(2 * POLL_MS, MAX_BACK_OFF_MS);
    let deliveredAt = Number.NEGATIVE_INFINITY;
    while (!signal.aborted) {
      let page: Page;
      try {
        page = await this.readPage(position);
        backoff.reset();
      } catch (error) {
        if (!isTransient(error)) throw error;
        await pause(backoff.next(), signal);
        continue;
      }
      const { events, asOf, isFull } = page;
      ({ position } = page);
      const readAt = performance.now();
      if (events.length > 0 || readAt - deliveredAt >= HEARTBEAT_MS) {
        await onBatch({ events, position, asOf });
        deliveredAt = readAt;
      }
      if (!isFull) await pause(POLL_MS, signal);
    }
  }

  async head(): Promise<bigint> {
    const [row] = await orThrowUnavailable(HEAD.run(this.pool, {}));
    return row?.position == null ? BEGINNING : BigInt(row.position);
  }

  /** An append takes its time under the lock of the log, so the lock is free once the appends before have committed. */
  override settled(): Promise<void> {
    return this.awaitAppends();
  }

  private readonly awaitAppends = coalesce(async (): Promise<void> => {
    await orThrowUnavailable(AWAIT_APPENDS.run(this.pool, {}));
  });

  async id(): Promise<string> {
    if (this.logId !== undefined) return this.logId;
    const [first] = await this.readAll(BEGINNING, 1);
    const id = (first?.data as { logId?: string } | undefined)?.logId;
    if (id === undefined)
      throw new Error('The log in log.events does not begin with LogOpened; it is not a log of this service');
    this.logId = id;
    return id;
  }

  async close(): Promise<void> {
    await Promise.all([...new Set([this.pool, this.subscriptionPool])].map((pool) => pool.end()));
  }

  private async readPage(after: bigint): Promise<Page> {
    const rows = await orThrowUnavailable(READ_NEXT.run(this.pool, { after, limit: PAGE + 1 }));
    const events = rows.flatMap((row) => (row.position === null ? [] : [recorded(row as EventRow)]));
    const bytes = rows.at(-1)!.bytes ?? 0;
    const now = rows[0]!.as_of;
    // If the page is not full, it contains all events of the statement's snapshot after the position, so everything
    // acknowledged before `now` has been read.
    const isFull = events.length > PAGE || bytes >= MAX_PAGE_BYTES;
    if (!isFull) return { events, position: events.at(-1)?.position ?? after, asOf: now, isFull };
    // If the page is full, later events were recorded after its last event, unless the clock was set back meanwhile. The
    // next event, which is read again with its own page, and the present time show most such cases.
    const next = events.length > 1 ? events.pop() : undefined;
    const { position, recordedAt } = events.at(-1)!;
    return { events, position, asOf: next && Math.min(recordedAt, next.recordedAt, now), isFull };
  }
}

/** @throws Unavailable instead of the driver's error if the database is unavailable */
const orThrowUnavailable = async <Row>(rows: Promise<Row[]>): Promise<Row[]> => {
  try {
    return await rows;
  } catch (error) {
    throw asUnavailable(error);
  }
};

/**
 * Opens the log in a database and creates its schema and first event if they are missing.
 * @param pool the pool for requests; `close` ends it
 * @param subscriptionPool a pool for subscriptions, so that requests do not delay them
 * @param migrates whether to create or change the tables if necessary
 * @throws ConfigError if `migrates` is false and a migration is missing
 */
export const createPostgresLog = async (pool: Pool, subscriptionPool = pool, migrates = true): Promise<EventLog> => {
  if (migrates) await migrate(pool, 'log', LOG_MIGRATIONS);
  else {
    const [first] = await missingMigrations(pool, 'log', LOG_MIGRATIONS);
    if (first !== undefined)
      throw new ConfigError(
        `The tables of the log lack the migration ${first}: run \`migrate\`, or set MIGRATE_ON_START to true`,
      );
  }
  const log = new PostgresLog(pool, subscriptionPool);
  if ((await log.head()) === BEGINNING) await appendLogOpened(log);
  await log.id();
  return log;
};
