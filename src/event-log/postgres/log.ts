import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { OPERATIONS_STREAM } from '../../events/streams.js';
import { migrate } from '../../postgres/migrator.js';
import { asUnavailable, isTransient } from '../../postgres/transient-errors.js';
import {
  type Appended,
  type Batch,
  BEGINNING,
  EventLog,
  type ExpectedRevision,
  type NewEvent,
  type RecordedEvent,
  WrongExpectedRevision,
} from '../event-log.js';
import { newEvent } from '../new-event.js';
import { LOG_MIGRATIONS } from './schema.js';
import { HEAD, READ_ALL, READ_STREAM } from './statements.js';
import { PostgresWriter } from './writer.js';
import { Backoff, pause } from '../../retry.js';

interface Row {
  position: number;
  stream: string;
  revision: number;
  event_id: string;
  type: string;
  data: unknown;
  metadata: unknown;
  recorded_at: number;
}

/** Events per batch. */
const PAGE = 3_000;
/** Polling interval; there are no wake-ups that could be lost. */
const POLL_MS = 20;
const HEARTBEAT_MS = 250;
const MAX_BACK_OFF_MS = 2_000;

const recorded = (row: Row): RecordedEvent => ({
  position: BigInt(row.position),
  stream: row.stream,
  revision: BigInt(row.revision),
  id: row.event_id,
  type: row.type,
  data: row.data,
  metadata: row.metadata,
  recordedAt: row.recorded_at,
});

/**
 * The log in PostgreSQL. Positions are consecutive and in commit order (see `schema.ts`), so readers simply ask for
 * events after the last one they have.
 */
export class PostgresLog extends EventLog {
  readonly positionUnit = 'events';
  override readonly forFollowers: EventLog;
  private readonly writer: PostgresWriter;
  private logId: string | undefined;

  constructor(
    private readonly pool: Pool,
    /** For followers alone. */
    private readonly followers = pool,
  ) {
    super();
    this.forFollowers = followers === pool ? this : new PostgresLog(followers);
    this.writer = new PostgresWriter(pool);
  }

  async append(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]): Promise<Appended> {
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
      revision: BigInt(last.revision),
      position: BigInt(last.position),
      duplicate: entries.every(({ outcome }) => outcome === 'duplicate'),
    };
  }

  async appendAll(entries: readonly { stream: string; event: NewEvent }[]): Promise<boolean[]> {
    if (entries.length === 0) return [];
    const answers = await this.writer.append({ entries, expected: undefined });
    return answers.map(({ outcome }) => outcome === 'duplicate');
  }

  async readStream(stream: string, from: bigint, limit: number): Promise<RecordedEvent[]> {
    return this.query(READ_STREAM, [stream, String(from), limit]);
  }

  async readAll(after: bigint, limit: number): Promise<RecordedEvent[]> {
    return this.query(READ_ALL, [String(after), limit]);
  }

  async subscribe(after: bigint, onBatch: (batch: Batch) => Promise<void>, signal: AbortSignal): Promise<void> {
    let position = after;
    const backoff = new Backoff(2 * POLL_MS, MAX_BACK_OFF_MS);
    let handedOver = 0;
    while (!signal.aborted) {
      let batch: Batch;
      try {
        batch = await this.readBatch(position);
        backoff.reset();
      } catch (error) {
        if (!isTransient(error)) throw error;
        await pause(backoff.next(), signal);
        continue;
      }
      const isFull = batch.events.length === PAGE;
      position = batch.position;
      if (batch.events.length > 0 || batch.asOf - handedOver >= HEARTBEAT_MS) {
        await onBatch(batch);
        handedOver = batch.asOf;
      }
      if (!isFull) await pause(POLL_MS, signal);
    }
  }

  async head(): Promise<bigint> {
    const [row] = (await this.run<{ position: number | null }>(HEAD, [])).rows;
    return row?.position == null ? BEGINNING : BigInt(row.position);
  }

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
    await Promise.all([...new Set([this.pool, this.followers])].map((pool) => pool.end()));
  }

  private async readBatch(after: bigint): Promise<Batch> {
    const asked = Date.now();
    const events = await this.readAll(after, PAGE);
    const last = events.at(-1);
    // A page that is not full reached the end as it was when we asked. After a full one there is more, recorded later.
    const asOf = last && events.length === PAGE ? last.recordedAt : asked;
    return { events, position: last?.position ?? after, asOf };
  }

  private async query(statement: { name: string; text: string }, values: unknown[]): Promise<RecordedEvent[]> {
    return (await this.run<Row>(statement, values)).rows.map(recorded);
  }

  private async run<R extends object>(statement: { name: string; text: string }, values: unknown[]) {
    try {
      return await this.pool.query<R>({ ...statement, values });
    } catch (error) {
      throw asUnavailable(error);
    }
  }
}

/**
 * Opens the log in a database, making its schema and its first event where they are missing.
 * @param pool the log's own; `close` ends it
 * @param followers likewise, for whom no request may delay
 */
export const createPostgresLog = async (pool: Pool, followers = pool): Promise<EventLog> => {
  await migrate(pool, 'log', LOG_MIGRATIONS);
  const log = new PostgresLog(pool, followers);
  if ((await log.head()) === BEGINNING) {
    const opened = newEvent({ type: 'LogOpened', data: { logId: randomUUID(), createdAt: Date.now() } });
    await log.append(OPERATIONS_STREAM, 'no-stream', [opened]).catch((error: unknown) => {
      // Another process opened it at the same moment; the first one's id counts.
      if (!(error instanceof WrongExpectedRevision)) throw error;
    });
  }
  await log.id();
  return log;
};
