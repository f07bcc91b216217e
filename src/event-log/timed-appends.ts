import { Histogram, type Registry } from 'prom-client';
import type { EventLog } from './event-log.js';

/** Upper bounds, in seconds. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** Measures the duration of appends and counts failed appends, for Prometheus. */
export const timeAppends = (log: EventLog, registry: Registry): void => {
  const histogram = new Histogram({
    name: 'threat_protection_log_append_duration_seconds',
    help: 'Duration of appends until they are durable; failed: the log did not respond or rejected the append',
    labelNames: ['outcome'],
    buckets: BUCKETS,
    registers: [registry],
  });
  const [stored, failed] = ['stored', 'failed'].map((outcome) => {
    histogram.zero({ outcome });
    return histogram.labels({ outcome });
  });
  log.observeAppends(async (append) => {
    const startedAt = performance.now();
    const seconds = (): number => (performance.now() - startedAt) / 1_000;
    try {
      const result = await append();
      stored!.observe(seconds());
      return result;
    } catch (error) {
      failed!.observe(seconds());
      throw error;
    }
  });
};
