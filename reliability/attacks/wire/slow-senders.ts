import { setTimeout as sleep } from 'node:timers/promises';
import type { Outcome, Scenario } from '../../scenario.js';
import type { Scene } from '../../rig/scene.js';
import { unnoticed } from '../../rig/bystanders.js';
import { drip } from '../../../test/support/raw.js';
import { openNaive, TENANTS } from '../../rig/site.js';
import type { Target } from '../../rig/target.js';

interface Dose {
  readonly headers: number;
  readonly bodies: number;
  /** The limits are 5 s for headers and 10 s for a whole request; a busy machine looks later. */
  readonly cutWithinMs: number;
}

const BYTE_EVERY_MS = 1_000;

const attack = async (scene: Scene, target: Target, dose: Dose): Promise<Outcome> => {
  const { headers, bodies, cutWithinMs } = dose;
  const key = target.keys[TENANTS[0]!];
  const post =
    `POST /v2/organization/asset-groups HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${key}\r\n` +
    'Content-Type: application/json\r\nContent-Length: 60000\r\n\r\n{';
  let left = headers + bodies;
  let uncut = 0;
  let other = 0;
  const answers: string[] = [];
  const { seen, findings } = await unnoticed(scene, target, async () => {
    const slow = [
      ...Array.from({ length: headers }, (_, i) =>
        drip(target.url, {
          head: `GET /health/live HTTP/1.1\r\nHost: a\r\nX-${i}: `,
          drop: 'a',
          everyMs: BYTE_EVERY_MS,
        }),
      ),
      ...Array.from({ length: bodies }, () => drip(target.url, { head: post, drop: ' ', everyMs: BYTE_EVERY_MS })),
    ];
    for (const { cut } of slow)
      void cut.then((answer) => {
        left -= 1;
        answers.push(answer);
      });
    const begin = Date.now();
    while (left > 0 && Date.now() - begin < cutWithinMs) await sleep(50);
    uncut = left;
    other = answers.filter((answer) => !answer.startsWith('HTTP/1.1 408 ')).length;
    for (const { socket } of slow) socket.destroy();
  });
  return {
    dose: `${headers} slow headers, ${bodies} slow bodies`,
    seen: `all cut within ${cutWithinMs / 1000} s with 408; ${seen}`,
    findings: [
      ...findings,
      ...(uncut > 0 ? [`${uncut} were not cut within ${cutWithinMs / 1000} s`] : []),
      ...(other > 0 ? [`${other} were answered otherwise than with 408`] : []),
    ],
  };
};

export const slowSenders: Scenario<Dose> = {
  name: 'S5',
  what: 'a byte now and then, forever, on a thousand connections',
  asvs: { '15.2.2': 'Security Architecture and Dependencies', '13.1.3': 'Configuration Documentation' },
  full: { headers: 1_000, bodies: 200, cutWithinMs: 15_000 },
  run: async (scene, dose, site) => attack(scene, await site.service(), dose),
  guard: 'time limits for headers and whole requests',
  counterTest: { headers: 20, bodies: 5 },
  without: async (scene, dose) => attack(scene, await openNaive(scene), dose),
};
