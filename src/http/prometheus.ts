import { Injectable } from '@nestjs/common';
import type { onResponseHookHandler } from 'fastify';
import { Pool } from 'pg';
import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { ProjectionLags } from './projection-lag.js';

/** Seconds. A metrics query of a large organization takes tens of milliseconds, an authenticated check far less. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/**
 * What Prometheus is told. Features register what is theirs in the same `Registry` (prom-client's, injectable); the
 * event-loop delay and memory come from its defaults.
 */
@Injectable()
export class Prometheus {
  private readonly requests: Histogram<'method' | 'route' | 'status'>;

  constructor(
    readonly registry: Registry,
    lags: ProjectionLags,
    pool: Pool,
  ) {
    const registers = [registry];
    collectDefaultMetrics({ register: registry });
    this.requests = new Histogram({
      name: 'http_request_duration_seconds',
      help: 'Requests by route and status, from their headers read to their answer sent',
      labelNames: ['method', 'route', 'status'],
      buckets: BUCKETS,
      registers,
    });
    const gauge = (name: string, help: string, labelNames: string[] = ['projection']): Gauge =>
      new Gauge({ name, help, labelNames, registers });
    const position = gauge('projection_position', 'How far each projection has read the log');
    const lag = gauge('projection_lag', 'Positions between a projection and the end of the log', [
      'projection',
      'unit',
    ]);
    const seconds = gauge('projection_lag_seconds', 'Age of the newest moment up to which everything is counted');
    const parked = gauge('parked_events', 'Events a projection could not apply, waiting for an operator');
    const projectionGauges = [position, lag, seconds, parked];
    new Gauge({
      name: 'read_models_up',
      help: 'Whether the log and the read models answered this scrape',
      registers,
      async collect() {
        // Old figures of a database that is away would look like new ones.
        for (const each of projectionGauges) each.reset();
        try {
          for (const { projection, unit, ...figures } of await lags.read()) {
            position.set({ projection }, figures.position);
            lag.set({ projection, unit }, figures.lag);
            seconds.set({ projection }, figures.lagSeconds);
            parked.set({ projection }, figures.parked);
          }
          this.set(1);
        } catch {
          this.set(0);
        }
      },
    });
    new Gauge({
      name: 'database_pool_connections',
      help: 'Connections of the read models’ pool, and requests waiting for one',
      labelNames: ['state'],
      registers,
      collect() {
        this.set({ state: 'idle' }, pool.idleCount);
        this.set({ state: 'busy' }, pool.totalCount - pool.idleCount);
        this.set({ state: 'waiting' }, pool.waitingCount);
      },
    });
  }

  /** Counts a route's answers. The label is the route's pattern, never the path that was asked: paths are endless. */
  count(method: string, route: string): onResponseHookHandler {
    const observers = new Map<number, (seconds: number) => void>();
    return (_request, reply, done) => {
      const { statusCode } = reply;
      let observe = observers.get(statusCode);
      if (observe === undefined) {
        ({ observe } = this.requests.labels({ method, route, status: String(statusCode) }));
        observers.set(statusCode, observe);
      }
      observe(reply.elapsedTime / 1000);
      done();
    };
  }
}
