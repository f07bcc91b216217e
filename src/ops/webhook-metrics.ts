import { Counter, Gauge, type Registry } from 'prom-client';
import type { WatchPool } from '../read-models/pools.js';
import { READ_WEBHOOK_FIGURES } from './webhook-figures-sql.js';

/**
 * Registers the metrics of the webhooks, which come from the tables of the delivery process.
 * @returns a function that updates the metrics; call it before each scrape
 */
export const addWebhookMetrics = (pool: WatchPool, registry: Registry): (() => Promise<void>) => {
  const registers = [registry];
  const endpoints = new Gauge({
    name: 'threat_protection_webhook_endpoints',
    help: 'Webhook endpoints by state',
    labelNames: ['state'],
    registers,
  });
  const behind = new Gauge({
    name: 'threat_protection_webhook_records_behind',
    help: 'Records not yet delivered to webhook endpoints; counts at most 100 per endpoint and kind of record',
    registers,
  });
  const oldest = new Gauge({
    name: 'threat_protection_webhook_oldest_undelivered_seconds',
    help: 'Age of the oldest record not yet delivered to an endpoint that is not disabled; 0 if all are delivered',
    registers,
  });
  const attemptsTotal = new Counter({
    name: 'threat_protection_webhook_attempts_total',
    help: 'Delivery requests to webhook endpoints by outcome, excluding test deliveries',
    labelNames: ['outcome'],
    registers,
  });
  return async () => {
    for (const metric of [endpoints, behind, oldest, attemptsTotal]) metric.reset();
    const [row] = await READ_WEBHOOK_FIGURES.run(pool, {});
    const { active, failing, disabled, delivered, refused, unanswered } = row!;
    for (const [state, n] of Object.entries({ active, failing, disabled })) endpoints.set({ state }, n);
    const attempts = { delivered, error_response: refused, no_response: unanswered };
    for (const [outcome, n] of Object.entries(attempts)) attemptsTotal.inc({ outcome }, n);
    behind.set(row!.behind);
    oldest.set((row!.oldestAge ?? 0) / 1000);
  };
};
