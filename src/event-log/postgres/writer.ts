import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Pool } from 'pg';
import { OrganizationIsErased, Unavailable } from '../../errors.js';
import { asUnavailable, isTransient } from '../../postgres/transient-errors.js';
import { withSpansOf, type Span, tracing } from '../../runtime/tracing/tracing.js';
import type { NewEvent } from '../event-log.js';
import { APPEND, type AppendedEntry } from './statements.js';

/** Events that are appended together. */
export interface AppendRequest {
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
const MAX_EVENTS = 1_000;
/** After this time, the outcome of an append counts as unknown. */
const TIMEOUT_MS = 4_000;

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
