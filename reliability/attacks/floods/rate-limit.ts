import type { Outcome, Scenario } from '../../scenario.js';
import { sendRequest } from '../../rig/http-request.js';
import type { RunContext } from '../../rig/run-context.js';
import { STRICT, withBystanders } from '../../rig/bystanders.js';
import { runConcurrently } from '../../rig/run-concurrently.js';
import { startNaiveService, startAttackTarget, TENANTS } from '../../rig/shared-services.js';
import { Statuses } from '../../rig/statuses.js';
import type { Target } from '../../rig/target.js';

interface Scale {
  /** Requests per minute and key. The bystanders send up to 2,400 requests a minute. */
  readonly limit: number;
  /** The number of requests as a multiple of the limit. */
  readonly times: number;
}

const attack = async (context: RunContext, target: Target, { limit, times }: Scale): Promise<Outcome> => {
  const statuses = new Statuses();
  const { observed, findings } = await withBystanders(
    context,
    target,
    () =>
      runConcurrently(8, limit * times, async () => {
        const { status, headers } = await sendRequest(`${target.url}/v2/organization/metrics`, {
          key: target.keys[TENANTS[0]!],
        });
        statuses.add(status, headers);
      }),
    { ...STRICT, factor: 1.5 },
  );
  const accepted = statuses.countOf(200);
  // Twice the limit, because a new minute may begin during the attack.
  const maxAccepted = limit * 2;
  return {
    workload: `${times} times the limit of ${limit} a minute`,
    observed: `${statuses}; ${observed}`,
    findings: [
      ...findings,
      ...(accepted > maxAccepted ? [`${accepted} requests got 200, but ${limit} a minute are allowed`] : []),
      ...statuses.check(200, 429),
    ],
  };
};

export const rateLimit: Scenario<Scale> = {
  name: 'S10',
  what: 'one key sends ten times as many requests as its rate limit allows',
  asvs: { '2.4.1': 'Anti-automation', '6.1.1': 'Authentication Documentation', '15.4.4': 'Safe Concurrency' },
  full: { limit: 3_000, times: 10 },
  run: async (context, scale) =>
    attack(context, await startAttackTarget(context, { env: { RATE_LIMIT_PER_MINUTE: String(scale.limit) } }), scale),
  guard: 'a rate limit per key',
  controlScale: { limit: 1_000, times: 2.5 },
  withoutGuard: async (context, scale) => attack(context, await startNaiveService(context), scale),
};
