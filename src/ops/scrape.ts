import { Gauge, type Registry } from 'prom-client';
import { type Clock, monotonic } from '../flow/clock.js';
import { VERSION } from '../runtime/version.js';

/** How long a result is returned to further scrapes. */
const SHARED_FOR_MS = 1_000;

/**
 * Creates the function that returns all metrics for Prometheus. A result is shared for 1 s, so the database is queried
 * at most once a second however many clients scrape.
 * @param updates functions that each reset some metrics and then read their values from the log or the database
 */
export const createScrape = (
  registry: Registry,
  updates: readonly (() => Promise<void>)[],
  clock: Pick<Clock, 'now'> = monotonic,
): (() => Promise<string>) => {
  const up = new Gauge({
    name: 'threat_protection_read_models_up',
    help: '1 if the log and the read models answered during this scrape, otherwise 0',
    registers: [registry],
  });
  new Gauge({
    name: 'threat_protection_build_info',
    help: 'Always 1; the label is the version of the service',
    labelNames: ['version'],
    registers: [registry],
  }).set({ version: VERSION }, 1);
  const collect = async (): Promise<string> => {
    const read = await Promise.allSettled(updates.map((update) => update()));
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
