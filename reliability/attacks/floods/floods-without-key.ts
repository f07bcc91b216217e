import { Agent } from 'node:http';
import type { Outcome, Scenario } from '../../scenario.js';
import { ask } from '../../rig/ask.js';
import type { Scene } from '../../rig/scene.js';
import { Random } from '../../../test/support/random.js';
import { unnoticed } from '../../rig/bystanders.js';
import { inLanes } from '../../rig/lanes.js';
import { DEFAULT_LIMITS, openNaive, openService } from '../../rig/site.js';
import { Statuses } from '../../rig/statuses.js';
import type { Target } from '../../rig/target.js';

interface Dose {
  readonly requests: number;
  /** Each with a forged key and from another address, as a proxy would say. */
  readonly addresses: number;
  readonly scrapes: number;
}

/** A minute and address, unless set otherwise. */
const LIMIT = 600;

const attack = async (scene: Scene, target: Target, dose: Dose): Promise<Outcome> => {
  const { requests, addresses, scrapes } = dose;
  const findings: string[] = [];
  const random = new Random(scene.seed);
  const statuses = new Statuses();
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  const noticed = await unnoticed(scene, target, async () => {
    await inLanes(32, requests, async (n) => {
      const key = n % 2 === 0 ? undefined : `tp_${'0'.repeat(36)}`;
      const { status, headers } = await ask(`${target.url}/v2/organization/metrics`, { key, agent });
      statuses.note(status, headers);
    });
    scene.tell('from many addresses');
    await inLanes(32, addresses, async () => {
      const from = `${1 + random.int(223)}.${random.int(256)}.${random.int(256)}.${random.int(256)}`;
      await ask(`${target.url}/v2/organization/metrics`, { key: 'x', headers: { 'x-forwarded-for': from }, agent });
    });
    scene.tell('scraping');
    await inLanes(32, scrapes, async (n) => {
      const from = `2001:db8::${(n % 65_536).toString(16)}`;
      const path = n % 2 === 0 ? '/metrics' : '/openapi.json';
      await ask(target.url + path, { headers: { 'x-forwarded-for': from }, agent });
    });
    agent.destroy();
  });
  const refused = statuses.of(429);
  // Two minutes' worth, where one begins meanwhile.
  if (requests - refused > 2 * LIMIT)
    findings.push(`${requests - refused} of ${requests} requests without a good key were answered`);
  return {
    dose: `${requests} requests from one address, ${addresses} from as many, ${scrapes} scrapes`,
    seen: `${refused} refused with 429; ${noticed.seen}`,
    findings: [...findings, ...statuses.check(401, 429), ...noticed.findings],
  };
};

export const floodsWithoutKey: Scenario<Dose> = {
  name: 'S23',
  what: 'requests without a good key, from one address and from many, and scrapes',
  asvs: { '2.4.1': 'Anti-automation', '6.3.1': 'General Authentication Security', '15.4.4': 'Safe Concurrency' },
  full: { requests: 100_000, addresses: 100_000, scrapes: 5_000 },
  run: async (scene, dose) =>
    attack(scene, await openService(scene, { env: { ...DEFAULT_LIMITS, TRUST_PROXY: '127.0.0.1' } }), dose),
  guard: 'requests without a good key are limited by address',
  counterTest: { requests: 1_500, addresses: 500, scrapes: 0 },
  without: async (scene, dose) => attack(scene, await openNaive(scene), dose),
};
