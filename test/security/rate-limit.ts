import type { Outcome } from '../faults/fault.js';
import { ask } from '../faults/rig/ask.js';
import type { Scene } from '../faults/rig/scene.js';
import type { Attack } from './attack.js';
import { IMPATIENT, LENIENT, type Limits, STRICT, unnoticed } from './rig/bystanders.js';
import { inLanes } from './rig/lanes.js';
import { openNaive, openService, TENANTS } from './rig/site.js';
import type { Target } from './rig/target.js';

interface Dose {
  /** How many times its limit it asks. */
  readonly times: number;
  readonly quietMs: number;
  readonly limits: Limits;
}

/** A minute; the others ask 2,400 times. */
const LIMIT = 3_000;

const attack = async (scene: Scene, target: Target, { times, quietMs, limits }: Dose): Promise<Outcome> => {
  const statuses = new Map<number, number>();
  let without = 0;
  const { seen, findings } = await unnoticed(scene, target, { quietMs, limits }, () =>
    inLanes(8, LIMIT * times, async () => {
      const { status, headers } = await ask(`${target.url}/v2/organization/metrics`, { key: target.keys[TENANTS[0]!] });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status === 429 && !(Number(headers['retry-after']) > 0)) without += 1;
    }),
  );
  const good = statuses.get(200) ?? 0;
  const refused = statuses.get(429) ?? 0;
  // A minute may end while it asks.
  const most = LIMIT * 2;
  return {
    dose: `${times} times the limit of ${LIMIT} a minute`,
    seen: `${good} answered, ${refused} refused with 429 and Retry-After; ${seen}`,
    findings: [
      ...findings,
      ...(good > most ? [`${good} requests were answered where ${LIMIT} a minute are allowed`] : []),
      ...(without > 0 ? [`${without} answers 429 have no Retry-After`] : []),
      ...(good + refused < LIMIT * times ? ['Some were answered otherwise than with 200 or 429'] : []),
    ],
  };
};

export const rateLimit: Attack<Dose> = {
  name: 'S10',
  what: 'one key asks ten times as often as it may',
  asvs: { '2.4.1': 'Anti-automation', '6.1.1': 'Authentication Documentation', '15.4.4': 'Safe Concurrency' },
  doses: {
    short: { times: 1.2, quietMs: 1_000, limits: LENIENT },
    full: { times: 10, quietMs: 10_000, limits: { ...STRICT, factor: 1.5 } },
  },
  run: async ({ scene }, dose) => {
    const target = await openService(scene, { env: { RATE_LIMIT_PER_MINUTE: String(LIMIT) } });
    return attack(scene, target, dose);
  },
  guard: 'a limit for each key',
  without: async ({ scene }) => attack(scene, await openNaive(scene), { times: 2.5, quietMs: 200, limits: IMPATIENT }),
};
