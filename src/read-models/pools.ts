import { Pool } from 'pg';
import { createPool, createReplicaPool, type PoolOptions } from '../postgres/pool.js';
import type { Settings } from '../postgres/transaction.js';
import { asUnavailable } from '../postgres/transient-errors.js';
import { limit } from '../limits.js';

/**
 * An API process has a separate pool for each kind of work, so that a flood of one kind does not delay another:
 * requests (`Pool`, 6 connections), metrics queries (8), lists and feed (6), exports (4), polling of the read models (2),
 * and the checkpoints that requests with a `Consistency-Token` wait for (1). Together with the connections of the log
 * (`event-log/open-event-log.ts`), a process has at most 35 connections.
 */

/** For metrics queries, whose cost depends on the range that an organization requests. */
export abstract class MetricsPool extends Pool {}

/** For lists of records and the feed. */
export abstract class RecordsPool extends Pool {}

/** For exports of records. An export uses its connection for minutes. */
export abstract class ExportPool extends Pool {}

/** For health checks, Prometheus and everything else that polls. These queries must not wait behind requests. */
export abstract class WatchPool extends Pool {}

/**
 * For the checkpoints that requests wait for. One connection is enough, because concurrent reads share one query
 * (`Checkpoints`). These reads must not wait behind a slow scrape or a flush that waits for a lock.
 */
export abstract class CheckpointPool extends Pool {}

/** Connections to the replicas. */
export interface ReplicaPools {
  readonly metrics: Pool;
  readonly records: Pool;
}

/** Metrics are answered within 5 s, including up to 1 s in the queue (`metrics/metrics-queries.ts`). */
const METRICS: PoolOptions = {
  max: limit('database connections for metrics', 8, 'connections', 'process', '503'),
  connectionTimeoutMillis: limit('connection for metrics, records, exports', 1_000, 'ms', 'request', '503'),
  statement_timeout: limit('statement on metrics and records', 2_500, 'ms', 'request', '503'),
  query_timeout: 2_800,
  // The limits per organization count queries, so each query uses only one process of the database server.
  settings: { max_parallel_workers_per_gather: '0' },
};

/**
 * Forces plans that read a page in the order of an index, without reading or sorting more rows than the page has. The
 * planner's statistics may be from when the tables were empty.
 */
export const INDEX_ORDER_SETTINGS: Settings = {
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
  max: limit('database connections for lists and feed', 6, 'connections', 'process', '503'),
  settings: { ...METRICS.settings, ...INDEX_ORDER_SETTINGS },
};

/** An export is aborted if its client reads nothing for this long. */
export const EXPORT_READ_TIMEOUT_MS = limit('next part of a CSV export', 15_000, 'ms', 'request', 'connection reset');

/** The `application_name` of the transaction of an export, which a rebuild ends if it waits for the table. */
export const EXPORT_APPLICATION_NAME = 'threat-protection export';

const EXPORTS: PoolOptions = {
  ...RECORDS,
  max: limit('database connections for exports', 4, 'connections', 'process', '503'),
  idle_in_transaction_session_timeout: EXPORT_READ_TIMEOUT_MS + 5_000,
};

const MAX_REQUEST = limit('database connections for requests', 6, 'connections', 'process', '503');
const MAX_WATCH = limit('database connections for followers and health', 2, 'connections', 'process', '503');
const MAX_CHECKPOINT = limit('database connections for checkpoints', 1, 'connections', 'process', '503');

/**
 * Creates a pool whose statements throw `Unavailable` if the database is unavailable. Statements of Kysely are
 * converted in `tables.ts`.
 */
const createApiPool = (url: string, options: PoolOptions): Pool =>
  createPool(url, undefined, { ...options, toError: asUnavailable });

export const createRequestPool = (url: string): Pool => createApiPool(url, { max: MAX_REQUEST });
export const createMetricsPool = (url: string): MetricsPool => createApiPool(url, METRICS);
export const createRecordsPool = (url: string): RecordsPool => createApiPool(url, RECORDS);
export const createExportPool = (url: string): ExportPool => createApiPool(url, EXPORTS);
export const createWatchPool = (url: string): WatchPool => createApiPool(url, { max: MAX_WATCH });
export const createCheckpointPool = (url: string): CheckpointPool => createApiPool(url, { max: MAX_CHECKPOINT });

/**
 * Leaves enough time to retry a read on the primary within 5 s. If a replica does not respond, requests in the queue
 * still start within their limit of 1 s.
 */
const REPLICA_TIMEOUTS = { connectionTimeoutMillis: 300, statement_timeout: 800, query_timeout: 900 };

export const createReplicaPools = (url: string): ReplicaPools => ({
  metrics: createReplicaPool(url, { ...METRICS, ...REPLICA_TIMEOUTS }),
  records: createReplicaPool(url, { ...RECORDS, ...REPLICA_TIMEOUTS }),
});
