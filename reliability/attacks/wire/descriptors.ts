import { setTimeout as sleep } from 'node:timers/promises';
import type { Outcome, Scenario } from '../../scenario.js';
import type { Scene } from '../../rig/scene.js';
import { unnoticed } from '../../rig/bystanders.js';
import { sendUnread } from '../../../test/support/raw.js';
import { DEFAULT_LIMITS, openNaive } from '../../rig/site.js';
import type { Target } from '../../rig/target.js';

interface Dose {
  readonly connections: number;
}

const PIPELINED = 1_000;
const FILES = [
  '/docs/swagger-ui-bundle.js',
  '/docs/swagger-ui.css',
  '/docs',
  '/docs/favicon-32x32.png',
  '/dashboard',
  '/openapi.json',
];

const attack = async (scene: Scene, target: Target, { connections }: Dose): Promise<Outcome> => {
  const { seen, findings } = await unnoticed(scene, target, async () => {
    for (let n = 0; n < connections; n += 1) {
      const file = FILES[n % FILES.length]!;
      const socket = sendUnread(target.url, `GET ${file} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(PIPELINED));
      await sleep(250);
      // Some leave in order, some do not.
      if (n % 2 === 0) socket.resetAndDestroy();
      else socket.destroy();
    }
  });
  return {
    dose: `${connections} × ${PIPELINED} pipelined GET of ${FILES.length} files, closed unread`,
    seen,
    findings,
  };
};

export const descriptors: Scenario<Dose> = {
  name: 'S17',
  what: 'files that are asked for without a key and never read',
  asvs: { '1.4.3': 'Memory, String, and Unmanaged Code', '13.1.3': 'Configuration Documentation' },
  full: { connections: 100 },
  run: async (scene, dose, site) => attack(scene, await site.service('limited', DEFAULT_LIMITS), dose),
  guard: 'the few files are answered from memory',
  without: async (scene) => {
    const target = await openNaive(scene);
    const before = await target.weigh();
    const socket = sendUnread(target.url, 'GET /docs HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(PIPELINED));
    await sleep(500);
    socket.destroy();
    // Long enough for what is given back; the service is waited for up to 30 s.
    await sleep(1_500);
    const left = (await target.weigh()).descriptors - before.descriptors;
    return {
      dose: 'one connection',
      seen: '-',
      findings: left > 100 ? [`It still holds ${left} descriptors more`] : [],
    };
  },
};
