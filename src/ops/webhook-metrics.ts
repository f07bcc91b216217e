import { Counter, Gauge, type Registry } from 'prom-client';
import { WEBHOOK_FIGURES } from '../read-models/webhooks/statements.js';
import type { WatchPool } from '../read-models/pools.js';

/**
 * Adds what the delivery process has written down of webhooks.
 * @returns reads it; call it before each scrape
 */
export const addWebhookMetrics = (pool: WatchPool, registry: Registry): (() => Promise<void>) => {
  const registers = [registry];
  const endpoints = new Gauge({
    name: 'threat_protection_webhook_endpoints',
    help: 'Endpoints of webhooks by state',
    labelNames: ['state'],
    registers,
  });
  const behind = new Gauge({
    name: 'threat_protection_webhook_records_behind',
    help: 'Records that endpoints have not got yet, up to 100 an endpoint and kind',
    registers,
  });
  const oldest = new Gauge({
    name: 'threat_protection_webhook_oldest_undelivered_seconds',
    help: 'Age of the oldest record that an endpoint which is not disabled has not got yet; 0 if there is none',
    registers,
  });
  const attempts = new Counter({
    name: 'threat_protection_webhook_attempts_total',
    help: 'Requests to endpoints by outcome, tests aside',
    labelNames: ['outcome'],
    registers,
  });
  return async () => {
    for (const each of [endpoints, behind, oldest, attempts]) each.reset();
    const [row] = await WEBHOOK_FIGURES.run(pool, {});
    const { active, failing, disabled, delivered, refused, unanswered } = row!;
    for (const [state, n] of Object.entries({ active, failing, disabled })) endpoints.set({ state }, n);
    for (const [outcome, n] of Object.entries({ delivered, refused, unanswered })) attempts.inc({ outcome }, n);
    behind.set(row!.behind);
    oldest.set((row!.oldestAge ?? 0) / 1000);
  };
};
