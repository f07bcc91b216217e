import { Gauge, type Registry } from 'prom-client';
import { type Clock, monotonic } from '../flow/clock.js';

const SHARED_FOR_MS = 1_000;

/**
 * Makes what Prometheus scrapes: all metrics, at most a second old; however many scrape, the database is queried once
 * a second.
 * @param readings bring figures from the log and the database; each forgets its old ones before it asks
 */
export const createScrape = (
  registry: Registry,
  readings: readonly (() => Promise<void>)[],
  clock: Pick<Clock, 'now'> = monotonic,
): (() => Promise<string>) => {
  const up = new Gauge({
    name: 'threat_protection_read_models_up',
    help: 'Whether the log and the read models answered this scrape',
    registers: [registry],
  });
  const collect = async (): Promise<string> => {
    const read = await Promise.allSettled(readings.map((reading) => reading()));
    up.set(read.every(({ status }) => status === 'fulfilled') ? 1 : 0);
    return registry.metrics();
  };
  let shared: { readonly text: Promise<string>; until: number } | undefined;
  return () => {
    if (shared === undefined || clock.now() >= shared.until) {
      const fresh = { text: collect(), until: Infinity };
      const keep = (): number => (fresh.until = clock.now() + SHARED_FOR_MS);
      fresh.text.then(keep, keep);
      shared = fresh;
    }
    return shared.text;
  };
};
