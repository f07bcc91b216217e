import { Pool } from 'pg';
import { createPool, createReplicaPool, type PoolOptions } from '../postgres/pool.js';
import type { Settings } from '../postgres/settings.js';
import { asUnavailable } from '../postgres/transient-errors.js';

/**
 * An API process keeps its database connections apart by who waits for them, so that no flood of one kind delays
 * another: what requests do (`Pool`, 6), metrics queries (8), lists and feed (6), exports (4), and followers and
 * monitoring of the read models (2). With the log's own (`event-log/open-event-log.ts`) that is 34 at most.
 */

/** For metrics queries alone: the only ones whose cost an organization decides. */
export abstract class MetricsPool extends Pool {}

/** For lists of records and the feed. */
export abstract class RecordsPool extends Pool {}

/** For exports of records, each of which keeps one for minutes. */
export abstract class ExportPool extends Pool {}

/** For followers, health and Prometheus, which ask again and again and must not wait behind requests. */
export abstract class WatchPool extends Pool {}

/** Lead to the replicas. */
export interface ReplicaPools {
  readonly metrics: Pool;
  readonly records: Pool;
}

/** Answered within 5 s, the wait for a turn (1 s, `metrics/metrics-queries.ts`) included. Milliseconds. */
const METRICS: PoolOptions = {
  max: 8,
  connectionTimeoutMillis: 1_000,
  statement_timeout: 2_500,
  query_timeout: 2_800,
  // One query, one process of the server: what an organization may run is counted in queries.
  settings: { max_parallel_workers_per_gather: '0' },
};

/**
 * Pages are slices of indexes in their order, whatever the planner assumes about tables it last saw empty: it may neither
 * read more than a page shows nor sort it.
 */
export const BY_INDEX: Settings = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_sort: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_material: 'off',
  jit: 'off',
};

const RECORDS: PoolOptions = {
  ...METRICS,
  max: 6,
  settings: { ...METRICS.settings, ...BY_INDEX },
};

/** A reader of an export who does not take its next part for this long is cut. ms */
export const EXPORT_PATIENCE_MS = 15_000;

const EXPORTS: PoolOptions = {
  ...RECORDS,
  max: 4,
  idle_in_transaction_session_timeout: EXPORT_PATIENCE_MS + 5_000,
};

/**
 * A pool whose statements throw `Unavailable` if the database is away, so that no caller can forget to say it. What goes
 * through Kysely does so in `kysely.ts`.
 */
const createApiPool = (url: string, options: PoolOptions): Pool => {
  const pool = createPool(url, undefined, options);
  const query = pool.query.bind(pool) as (...statement: unknown[]) => Promise<unknown>;
  return Object.assign(pool, {
    query: async (...statement: unknown[]) => {
      try {
        return await query(...statement);
      } catch (error) {
        throw asUnavailable(error);
      }
    },
  });
};

export const createRequestPool = (url: string): Pool => createApiPool(url, { max: 6 });
export const createMetricsPool = (url: string): MetricsPool => createApiPool(url, METRICS);
export const createRecordsPool = (url: string): RecordsPool => createApiPool(url, RECORDS);
export const createExportPool = (url: string): ExportPool => createApiPool(url, EXPORTS);
export const createWatchPool = (url: string): WatchPool => createApiPool(url, { max: 2 });

/**
 * With these limits, a read that is repeated on the primary is answered within 5 s, and a request that waits for a turn
 * (1 s) gets one although a replica does not answer the reads before it. ms
 */
const OF_REPLICA = { connectionTimeoutMillis: 300, statement_timeout: 800, query_timeout: 900 };

export const createReplicaPools = (url: string): ReplicaPools => ({
  metrics: createReplicaPool(url, { ...METRICS, ...OF_REPLICA }),
  records: createReplicaPool(url, { ...RECORDS, ...OF_REPLICA }),
});
