import { Pool, type PoolConfig } from 'pg';
import { createPool } from '../postgres/pool.js';

/**
 * An API process keeps its database connections apart by who waits for them, so that no flood of one kind delays
 * another: what requests do (`Pool`, 6), metrics queries (8), and followers and monitoring of the read models
 * (2). With the log's own (`event-log/open-event-log.ts`) that is 24 at most.
 */

/** For metrics queries alone: the only ones whose cost an organization decides. */
export abstract class MetricsPool extends Pool {}

/** For followers, health and Prometheus, which ask again and again and must not wait behind requests. */
export abstract class WatchPool extends Pool {}

/** Answered within 5 s, the wait for a turn (1 s, `metrics/query-turns.ts`) included. Milliseconds. */
const METRICS: PoolConfig = {
  max: 8,
  connectionTimeoutMillis: 1_000,
  statement_timeout: 2_500,
  query_timeout: 2_800,
  // One query, one process of the server: what an organization may run is counted in queries.
  options: '-c max_parallel_workers_per_gather=0',
};

const ignoreLostConnection = (): void => {
  // An idle connection broke. The next statement takes a new one, and says so where that fails too.
};

export const createRequestPool = (url: string): Pool => createPool(url, ignoreLostConnection, { max: 6 });
export const createMetricsPool = (url: string): MetricsPool => createPool(url, ignoreLostConnection, METRICS);
export const createWatchPool = (url: string): WatchPool => createPool(url, ignoreLostConnection, { max: 2 });
