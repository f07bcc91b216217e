import type { Outcome, Scenario } from '../../scenario.js';
import { ask } from '../../rig/ask.js';
import type { Scene } from '../../rig/scene.js';
import { STRICT, unnoticed } from '../../rig/bystanders.js';
import { inLanes } from '../../rig/lanes.js';
import { openNaive, openService, TENANTS } from '../../rig/site.js';
import { Statuses } from '../../rig/statuses.js';
import type { Target } from '../../rig/target.js';

interface Dose {
  /** A minute; the others ask up to 2,400 times in one. */
  readonly limit: number;
  /** How many times its limit it asks. */
  readonly times: number;
}

const attack = async (scene: Scene, target: Target, { limit, times }: Dose): Promise<Outcome> => {
  const statuses = new Statuses();
  const { seen, findings } = await unnoticed(
    scene,
    target,
    () =>
      inLanes(8, limit * times, async () => {
        const { status, headers } = await ask(`${target.url}/v2/organization/metrics`, {
          key: target.keys[TENANTS[0]!],
        });
        statuses.note(status, headers);
      }),
    { ...STRICT, factor: 1.5 },
  );
  const good = statuses.of(200);
  // A minute may end while it asks.
  const most = limit * 2;
  return {
    dose: `${times} times the limit of ${limit} a minute`,
    seen: `${statuses}; ${seen}`,
    findings: [
      ...findings,
      ...(good > most ? [`${good} requests were answered where ${limit} a minute are allowed`] : []),
      ...statuses.check(200, 429),
    ],
  };
};

export const rateLimit: Scenario<Dose> = {
  name: 'S10',
  what: 'one key asks ten times as often as it may',
  asvs: { '2.4.1': 'Anti-automation', '6.1.1': 'Authentication Documentation', '15.4.4': 'Safe Concurrency' },
  full: { limit: 3_000, times: 10 },
  run: async (scene, dose) =>
    attack(scene, await openService(scene, { env: { RATE_LIMIT_PER_MINUTE: String(dose.limit) } }), dose),
  guard: 'a limit for each key',
  counterTest: { limit: 1_000, times: 2.5 },
  without: async (scene, dose) => attack(scene, await openNaive(scene), dose),
};
