import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Pool } from 'pg';
import { MAX_PAGE_BYTES, type NewEvent } from '../event-log.js';
import { json, nullable, type RowOf, statement, textOf } from '../../postgres/statement.js';
import { OrganizationIsErased, Unavailable } from '../../errors.js';
import { asUnavailable, isTransient } from '../../postgres/transient-errors.js';
import { withSpansOf, type Span, tracing } from '../../runtime/tracing.js';
import { limit } from '../../limits.js';

const EVENT = {
  position: 'bigint',
  stream: 'text',
  revision: 'bigint',
  event_id: 'uuid',
  type: 'text',
  data: 'json',
  metadata: 'json',
  recorded_at: 'bigint',
} as const;
const COLUMNS = Object.keys(EVENT).join(', ');

/**
 * The next events after `after`, at most `limit` and until they have `MAX_PAGE_BYTES`. `bytes` is the size of an event
 * and of all events before it in the page.
 */
const PAGE = `
  select ${COLUMNS}, bytes from (
    select e.*, sum(size) over (order by position rows unbounded preceding) as bytes from (
      select ${COLUMNS}, octet_length(data::text) + octet_length(metadata::text) as size
      from log.events where position > :after order by position limit :limit
    ) e
  ) e
  where bytes - size < ${MAX_PAGE_BYTES}`;

/** A row of `log.events`. */
export type EventRow = RowOf<typeof READ_ALL>;

export const READ_ALL = statement(
  'log-read-all',
  { after: 'bigint', limit: 'bigint' },
  EVENT,
  `select ${COLUMNS} from (${PAGE}) e order by position`,
);
/**
 * Reads the next events and `as_of`, the start of the transaction in ms by the database's clock. The transaction starts
 * before its snapshot is taken, so every event acknowledged before `as_of` is in the snapshot. If there are no events,
 * the result is one row without an event.
 */
export const READ_NEXT = statement(
  'log-read-next',
  { after: 'bigint', limit: 'bigint' },
  {
    as_of: 'bigint',
    position: nullable('bigint'),
    stream: nullable('text'),
    revision: nullable('bigint'),
    event_id: nullable('uuid'),
    type: nullable('text'),
    data: nullable(json()),
    metadata: nullable(json()),
    recorded_at: nullable('bigint'),
    bytes: nullable('bigint'),
  },
  `
    select floor(extract(epoch from transaction_timestamp()) * 1000)::bigint as as_of, e.*
    from (select) now left join lateral (${PAGE}) e on true
    order by e.position`,
);
export const READ_PLACES = statement(
  'log-read-places',
  { positions: 'bigint[]' },
  { position: 'bigint', id: 'uuid', type: 'text', stream: 'text', revision: 'bigint', recordedAt: 'bigint' },
  `
    select position, event_id as id, type, stream, revision, recorded_at as "recordedAt" from log.events
    where position = any(:positions)`,
);
export const READ_STREAM = statement(
  'log-read-stream',
  { stream: 'text', from: 'bigint', limit: 'bigint' },
  EVENT,
  `select ${COLUMNS} from log.events where stream = :stream and revision >= :from order by revision limit :limit`,
);
export const FIND = statement(
  'log-find',
  { ids: 'uuid[]' },
  { event_id: 'uuid', position: 'bigint', metadata: 'json', recorded_at: 'bigint' },
  `
    select e.event_id, e.position, e.metadata, e.recorded_at
    from unnest(:ids) i (id) cross join lateral (
      select e.event_id, e.position, e.metadata, e.recorded_at from log.events e where e.event_id = i.id limit 1
    ) e`,
);
export const HEAD = statement(
  'log-head',
  {},
  { position: nullable('bigint') },
  'select max(position) as position from log.events',
);

/** Waits for the appends that hold the lock of the log, or wait for it. */
export const AWAIT_APPENDS = statement(
  'log-await-appends',
  {},
  { locked: 'boolean' },
  'select pg_advisory_xact_lock_shared(20261121) is not null as locked',
);

/** Appends events; `schema.ts` explains the function. */
export const APPEND = statement(
  'log-append',
  {
    requests: 'integer[]',
    streams: 'text[]',
    expected: 'bigint[]',
    ids: 'uuid[]',
    types: 'text[]',
    data: 'text[]',
    metadata: 'text[]',
  },
  {
    outcome: textOf<'appended' | 'duplicate' | 'conflict'>(),
    /** Null if the outcome is `conflict`. */
    position: nullable('bigint'),
    /** Null if the outcome is `conflict`. */
    revision: nullable('bigint'),
    /** The stream's last revision before the append; -1 if the stream did not exist. */
    stream_revision: 'bigint',
  },
  'select * from log.append(:requests, :streams, :expected, :ids, :types, :data, :metadata)',
);

/** The outcome for one event. */
export type AppendedEntry = RowOf<typeof APPEND>;

/** Events that are appended together. */
interface AppendRequest {
  readonly entries: readonly { readonly stream: string; readonly event: NewEvent }[];
  /** The expected revision of the single stream; -1n: the stream must not exist; undefined: any revision. */
  readonly expected: bigint | undefined;
}

interface Waiting {
  readonly request: AppendRequest;
  /** The active trace spans of the caller; undefined if the process does not trace. */
  readonly spans: readonly Span[] | undefined;
  readonly resolve: (entries: AppendedEntry[]) => void;
  readonly reject: (error: unknown) => void;
}

/** The SQLSTATE with which `log.append` refuses events of an erased organization. */
const ERASED = 'TP001';
/** Maximum events per statement, unless a single request is larger. */
const MAX_EVENTS = limit('append to PostgreSQL, one statement at a time', 1_000, 'events', 'process', 'waits');
/** After this time, the outcome of an append counts as unknown. */
const TIMEOUT_MS = limit('append to PostgreSQL', 4_000, 'ms', 'request', '503');

/**
 * The single writer of a process. A lock in the database serialises appends. While one statement runs, further appends
 * wait and are sent together in the next statement, so these appends share the lock and the fsync. No append waits for
 * a timer.
 */
export class PostgresWriter {
  private waiting: Waiting[] = [];
  private writing = false;

  constructor(private readonly pool: Pool) {}

  /** @throws Unavailable if the outcome is unknown; OrganizationIsErased if an organization of the events was erased */
  append(request: AppendRequest): Promise<AppendedEntry[]> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ request, spans: tracing?.active(), resolve, reject });
      if (!this.writing) void this.write();
    });
  }

  private async write(): Promise<void> {
    this.writing = true;
    while (this.waiting.length > 0) {
      // Callers of the same turn of the event loop, and callers whose previous append has just ended, join the batch.
      await nextTurn();
      const batch = this.takeBatch();
      try {
        await this.store(batch);
      } catch (error) {
        for (const { reject } of batch) reject(error);
        if (error instanceof Unavailable) {
          // The appends in the queue would only wait longer for a database that is unavailable.
          const queued = this.waiting;
          this.waiting = [];
          for (const { reject } of queued) reject(error);
        }
      }
    }
    this.writing = false;
  }

  /** Removes from the queue as many requests as fit into one statement, but at least one. */
  private takeBatch(): Waiting[] {
    let events = 0;
    let length = 0;
    for (const { request } of this.waiting) {
      events += request.entries.length;
      if (length > 0 && events > MAX_EVENTS) break;
      length += 1;
    }
    return this.waiting.splice(0, length);
  }

  private async store(batch: readonly Waiting[]): Promise<void> {
    let results: AppendedEntry[];
    try {
      results = await withSpansOf(batch, () => this.execute(batch.map(({ request }) => request)));
    } catch (error) {
      if ((error as { code?: unknown }).code === ERASED && batch.length === 1) throw new OrganizationIsErased();
      if (isTransient(error) || batch.length === 1) throw asUnavailable(error);
      // At least one request cannot be stored. The requests are stored one by one, so that the other requests do not
      // fail too.
      for (const pendingAppend of batch)
        await this.store([pendingAppend]).catch((error: unknown) => {
          pendingAppend.reject(error);
          // The database is unavailable, so the remaining requests would fail too.
          if (error instanceof Unavailable) throw error;
        });
      return;
    }
    let from = 0;
    for (const { request, resolve } of batch) {
      resolve(results.slice(from, from + request.entries.length));
      from += request.entries.length;
    }
  }

  private execute(requests: readonly AppendRequest[]): Promise<AppendedEntry[]> {
    const entries = requests.flatMap((request) => request.entries);
    const events = entries.map(({ event }) => event);
    const values = {
      requests: requests.flatMap((request, number) => request.entries.map(() => number)),
      streams: entries.map(({ stream }) => stream),
      expected: requests.flatMap((request) => request.entries.map(() => request.expected)),
      ids: events.map(({ id }) => id),
      types: events.map(({ type }) => type),
      data: events.map(({ data }) => JSON.stringify(data)),
      metadata: events.map(({ metadata }) => JSON.stringify(metadata)),
    };
    return APPEND.run(this.pool, values, TIMEOUT_MS);
  }
}
