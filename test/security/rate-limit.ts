import type { Outcome } from '../faults/fault.js';
import { ask } from '../faults/rig/ask.js';
import type { Scene } from '../faults/rig/scene.js';
import type { Attack } from './attack.js';
import { IMPATIENT, LENIENT, type Limits, STRICT, unnoticed } from './rig/bystanders.js';
import { inLanes } from './rig/lanes.js';
import { openNaive, openService, TENANTS } from './rig/site.js';
import { Statuses } from './rig/statuses.js';
import type { Target } from './rig/target.js';

interface Dose {
  /** How many times its limit it asks. */
  readonly times: number;
  readonly limits: Limits;
}

/** A minute; the others ask 2,400 times. */
const LIMIT = 3_000;

const attack = async (scene: Scene, target: Target, { times, limits }: Dose): Promise<Outcome> => {
  const statuses = new Statuses();
  const { seen, findings } = await unnoticed(scene, target, limits, () =>
    inLanes(8, LIMIT * times, async () => {
      const { status, headers } = await ask(`${target.url}/v2/organization/metrics`, { key: target.keys[TENANTS[0]!] });
      statuses.note(status, headers);
    }),
  );
  const good = statuses.of(200);
  // A minute may end while it asks.
  const most = LIMIT * 2;
  return {
    dose: `${times} times the limit of ${LIMIT} a minute`,
    seen: `${statuses}; ${seen}`,
    findings: [
      ...findings,
      ...(good > most ? [`${good} requests were answered where ${LIMIT} a minute are allowed`] : []),
      ...statuses.check(200, 429),
    ],
  };
};

export const rateLimit: Attack<Dose> = {
  name: 'S10',
  what: 'one key asks ten times as often as it may',
  asvs: { '2.4.1': 'Anti-automation', '6.1.1': 'Authentication Documentation', '15.4.4': 'Safe Concurrency' },
  doses: {
    short: { times: 1.2, limits: LENIENT },
    full: { times: 10, limits: { ...STRICT, factor: 1.5 } },
  },
  run: async ({ scene }, dose) =>
    attack(scene, await openService(scene, { env: { RATE_LIMIT_PER_MINUTE: String(LIMIT) } }), dose),
  guard: 'a limit for each key',
  without: async ({ scene }) => attack(scene, await openNaive(scene), { times: 2.5, limits: IMPATIENT }),
};
