import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Pool } from 'pg';
import { Unavailable } from '../../errors.js';
import { asUnavailable, isTransient } from '../../postgres/transient-errors.js';
import { withSpansOf, type Span, tracing } from '../../tracing/tracing.js';
import type { NewEvent } from '../event-log.js';
import { APPEND, type AppendedEntry } from './statements.js';

/** Events that are appended together. */
export interface AppendRequest {
  readonly entries: readonly { readonly stream: string; readonly event: NewEvent }[];
  /** The expected revision of the one stream; -1n: it must not exist; undefined: any. */
  readonly expected: bigint | undefined;
}

interface Waiting {
  readonly request: AppendRequest;
  /** On whose behalf, if that is traced. */
  readonly spans: readonly Span[] | undefined;
  readonly resolve: (entries: AppendedEntry[]) => void;
  readonly reject: (error: unknown) => void;
}

/** Events per statement, unless a single request is larger. */
const MAX_EVENTS = 1_000;

/**
 * The single writer of a process. Appends are serialised by a lock in the database, so while one statement runs, all
 * further appends wait and become the next one: they share lock and fsync, and nobody waits for a timer.
 */
export class PostgresWriter {
  private waiting: Waiting[] = [];
  private writing = false;

  constructor(
    private readonly pool: Pool,
    /** Milliseconds after which an append's outcome counts as unknown. */
    private readonly timeLimit = 4_000,
  ) {}

  /** @throws Unavailable if the outcome is unknown */
  append(request: AppendRequest): Promise<AppendedEntry[]> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ request, spans: tracing?.active(), resolve, reject });
      if (!this.writing) void this.write();
    });
  }

  private async write(): Promise<void> {
    this.writing = true;
    while (this.waiting.length > 0) {
      // Lets callers that were just answered, or arrived in the same turn, join.
      await nextTurn();
      const batch = this.takeBatch();
      try {
        await this.store(batch);
      } catch (error) {
        for (const { reject } of batch) reject(error);
        if (error instanceof Unavailable) {
          // If the database is unavailable, the appends behind have waited long enough too.
          const behind = this.waiting;
          this.waiting = [];
          for (const { reject } of behind) reject(error);
        }
      }
    }
    this.writing = false;
  }

  /** The longest prefix of the queue that fits one statement. */
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
    let answers: AppendedEntry[];
    try {
      answers = await withSpansOf(batch, () => this.execute(batch.map(({ request }) => request)));
    } catch (error) {
      if (isTransient(error) || batch.length === 1) throw asUnavailable(error);
      // One of them cannot be stored; the others must not fail because of it.
      for (const one of batch)
        await this.store([one]).catch((error: unknown) => {
          one.reject(error);
          // What the database did not answer to one, it will not answer to the next.
          if (error instanceof Unavailable) throw error;
        });
      return;
    }
    let from = 0;
    for (const { request, resolve } of batch) {
      resolve(answers.slice(from, from + request.entries.length));
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
    return APPEND.run(this.pool, values, this.timeLimit);
  }
}
