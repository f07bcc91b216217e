import { Agent } from 'node:http';
import type { Outcome, Scenario } from '../../scenario.js';
import { sendRequest } from '../../rig/http-request.js';
import type { RunContext } from '../../rig/run-context.js';
import { Random } from '../../../test/support/random.js';
import { withBystanders } from '../../rig/bystanders.js';
import { runConcurrently } from '../../rig/run-concurrently.js';
import { DEFAULT_LIMITS, startNaiveService, startAttackTarget } from '../../rig/shared-services.js';
import { Statuses } from '../../rig/statuses.js';
import type { Target } from '../../rig/target.js';

interface Scale {
  readonly requests: number;
  /** The number of forwarded client addresses, each with a forged key. */
  readonly addresses: number;
  readonly scrapes: number;
}

/** The default limit per minute and address. */
const LIMIT = 600;

const attack = async (context: RunContext, target: Target, scale: Scale): Promise<Outcome> => {
  const { requests, addresses, scrapes } = scale;
  const findings: string[] = [];
  const random = new Random(context.seed);
  const statuses = new Statuses();
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  const outcome = await withBystanders(context, target, async () => {
    await runConcurrently(32, requests, async (n) => {
      const key = n % 2 === 0 ? undefined : `tp_${'0'.repeat(36)}`;
      const { status, headers } = await sendRequest(`${target.url}/v2/organization/metrics`, { key, agent });
      statuses.add(status, headers);
    });
    context.reportProgress('from many addresses');
    await runConcurrently(32, addresses, async () => {
      const from = `${1 + random.int(223)}.${random.int(256)}.${random.int(256)}.${random.int(256)}`;
      await sendRequest(`${target.url}/v2/organization/metrics`, {
        key: 'x',
        headers: { 'x-forwarded-for': from },
        agent,
      });
    });
    context.reportProgress('scraping');
    await runConcurrently(32, scrapes, async (n) => {
      const from = `2001:db8::${(n % 65_536).toString(16)}`;
      const path = n % 2 === 0 ? '/metrics' : '/openapi.json';
      await sendRequest(target.url + path, { headers: { 'x-forwarded-for': from }, agent });
    });
    agent.destroy();
  });
  const refused = statuses.countOf(429);
  // Twice the limit, because a new minute may begin meanwhile.
  if (requests - refused > 2 * LIMIT)
    findings.push(`${requests - refused} of ${requests} requests without a valid key were not rejected`);
  return {
    workload: `${requests} requests from one address, ${addresses} from random addresses, ${scrapes} scrapes`,
    observed: `${refused} rejected with 429; ${outcome.observed}`,
    findings: [...findings, ...statuses.check(401, 429), ...outcome.findings],
  };
};

export const floodsWithoutKey: Scenario<Scale> = {
  name: 'S23',
  what: 'many requests without a valid key, from one address and from many, and metrics scrapes',
  asvs: { '2.4.1': 'Anti-automation', '6.3.1': 'General Authentication Security', '15.4.4': 'Safe Concurrency' },
  full: { requests: 100_000, addresses: 100_000, scrapes: 5_000 },
  run: async (context, scale) =>
    attack(context, await startAttackTarget(context, { env: { ...DEFAULT_LIMITS, TRUST_PROXY: '127.0.0.1' } }), scale),
  guard: 'a rate limit per address for requests without a valid key',
  controlScale: { requests: 1_500, addresses: 500, scrapes: 0 },
  withoutGuard: async (context, scale) => attack(context, await startNaiveService(context), scale),
};
