import { Counter, Gauge, type Registry } from 'prom-client';
import { KIND_NAMES, LISTED_KIND } from '../events/listed-items.js';
import { nullable, statement, textOf, CLOCK } from '../postgres/statement.js';
import type { WatchPool } from '../read-models/pools.js';
import { reportFailures } from '../flow/background.js';

/** Maximum number of records that are counted for the backlog of an endpoint and a kind. */
const MAX_COUNTED = 100;

const KINDS = KIND_NAMES.map((name) => `(${LISTED_KIND[name]}::smallint, '${name}')`).join(', ');

/** The numbers of endpoints and pending records, for Prometheus, over a page of the endpoints that are not deleted. */
export const READ_WEBHOOK_FIGURES = statement(
  'webhooks-figures',
  { afterOrganization: 'text', afterId: 'text', limit: 'bigint' },
  {
    active: 'bigint',
    failing: 'bigint',
    disabled: 'bigint',
    behind: 'bigint',
    /**
     * The longest time since the oldest pending record was stored, or since the last delivery if that was later, of
     * endpoints that do not fail (ms, by the database's clock). Null: no record is pending.
     */
    oldestAge: nullable('bigint'),
    /** The organization and the id of the last endpoint of the page. Null: the page is empty. */
    last: nullable('text[]'),
  },
  `
    with living as materialized (
      select e.organization, e.id, e.endpoint -> 'types' as types, e.state, p.progress ->> 'failingSince' is not null as failing,
        coalesce(p.progress ->> 'position', e.endpoint ->> 'startAfter')::bigint as position,
        (p.progress ->> 'lastSuccessAt')::bigint as delivered_at
      from read.webhook_endpoints e
      left join service.webhook_progress p on p.endpoint = e.id and p.progress -> 'replay' = e.endpoint -> 'replay'
      where e.state <> 'DELETED' and (e.organization, e.id) > (:afterOrganization, :afterId)
      order by e.organization, e.id limit :limit
    ), waiting as (
      select l.failing, l.delivered_at,
        (select count(*) from (
          select from read.register r
          where r.organization = l.organization and r.kind = k.kind and r.position > l.position limit ${MAX_COUNTED}
        ) counted) as behind,
        (select r.stored_at from read.register r
          where r.organization = l.organization and r.kind = k.kind and r.position > l.position
          order by r.position limit 1) as oldest
      from living l join (values ${KINDS}) k (kind, name)
        on l.types is null or l.types ? k.name
      where l.state = 'ACTIVE'
    )
    select
      (select count(*) from living where state = 'ACTIVE' and not failing) as active,
      (select count(*) from living where state = 'ACTIVE' and failing) as failing,
      (select count(*) from living where state = 'DISABLED') as disabled,
      (select coalesce(sum(behind), 0)::bigint from waiting) as behind,
      (select greatest(0, ${CLOCK} - min(greatest(oldest, delivered_at))) from waiting
        where oldest is not null and not failing) as "oldestAge",
      (select array[organization, id] from living order by organization desc, id desc limit 1) as last`,
);

/** The numbers of attempts of all endpoints by outcome. */
export const READ_WEBHOOK_ATTEMPTS = statement(
  'webhooks-outcomes',
  {},
  { outcome: textOf<'delivered' | 'refused' | 'unanswered'>(), attempts: 'bigint' },
  `
    select outcome, coalesce(attempts, 0)::bigint as attempts
    from unnest(array['delivered', 'refused', 'unanswered']) o (outcome) left join service.webhook_outcomes using (outcome)`,
);

/** Endpoints per statement. A statement takes milliseconds. */
const ENDPOINTS_PER_PAGE = 200;
const PAGE_LIMIT_MS = 1_000;
/** The time that a scrape may take for the endpoints, in ms. The next scrape continues where this one has ended. */
const BUDGET_MS = 1_000;

const NOTHING = { active: 0, failing: 0, disabled: 0, behind: 0, oldestAge: 0 };

/**
 * Registers the metrics of the webhooks, which come from the tables of the delivery process. With very many endpoints,
 * their figures are of the last scrape that has reached the last endpoint. If they cannot be read, they are not exported.
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
    help:
      'Longest time that an endpoint which neither fails nor is disabled has had records to deliver without a delivery; ' +
      '0 if all are delivered',
    registers,
  });
  const attemptsTotal = new Counter({
    name: 'threat_protection_webhook_attempts_total',
    help: 'Delivery requests to webhook endpoints by outcome, excluding test deliveries',
    labelNames: ['outcome'],
    registers,
  });
  const report = reportFailures('count undelivered records of webhooks', registry);
  let walked = { ...NOTHING };
  let [afterOrganization, afterId] = ['', ''];
  let figures: typeof NOTHING | undefined;
  const walk = async (): Promise<void> => {
    for (const until = performance.now() + BUDGET_MS; performance.now() < until;) {
      const page = { afterOrganization, afterId, limit: ENDPOINTS_PER_PAGE };
      const [row] = await READ_WEBHOOK_FIGURES.run(pool, page, PAGE_LIMIT_MS);
      const { active, failing, disabled, behind: pending, oldestAge, last } = row!;
      walked.active += active;
      walked.failing += failing;
      walked.disabled += disabled;
      walked.behind += pending;
      walked.oldestAge = Math.max(walked.oldestAge, oldestAge ?? 0);
      [afterOrganization, afterId] = (last ?? ['', '']) as [string, string];
      if (active + failing + disabled === ENDPOINTS_PER_PAGE) continue;
      [figures, walked, afterOrganization, afterId] = [walked, { ...NOTHING }, '', ''];
      return;
    }
  };
  return async () => {
    for (const metric of [endpoints, behind, oldest, attemptsTotal]) metric.reset();
    // Gauges without labels are 0 after a reset.
    for (const metric of [behind, oldest]) metric.remove({});
    const names = { delivered: 'delivered', refused: 'error_response', unanswered: 'no_response' } as const;
    for (const { outcome, attempts } of await READ_WEBHOOK_ATTEMPTS.run(pool, {}))
      attemptsTotal.inc({ outcome: names[outcome] }, attempts);
    try {
      await walk();
    } catch (error) {
      figures = undefined;
      report.failed(error);
    }
    if (figures === undefined) return;
    const { active, failing, disabled } = figures;
    for (const [state, n] of Object.entries({ active, failing, disabled })) endpoints.set({ state }, n);
    behind.set(figures.behind);
    oldest.set(figures.oldestAge / 1000);
  };
};
