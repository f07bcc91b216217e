import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Outcome, Scenario } from '../../scenario.js';
import type { Scene } from '../../rig/scene.js';
import { unnoticed } from '../../rig/bystanders.js';
import { sendUnread } from '../../../test/support/raw.js';
import { DEFAULT_LIMITS, openNaive, TENANTS } from '../../rig/site.js';
import type { Target } from '../../rig/target.js';

interface Dose {
  readonly connections: number;
  /** How long they stay; after 30 s without progress they must be cut. ms */
  readonly stayMs: number;
  /** Whether they stay long enough to be cut. */
  readonly untilCut: boolean;
}

/** As large as answers get, as often as no buffer between here and there holds. */
const REQUESTS = [
  ['/openapi.json', 150],
  ['/docs/swagger-ui-bundle.js', 20],
] as const;
/** What a connection may cost that has asked for much and takes nothing. */
const MAX_BYTES_EACH = 4 * 1024 * 1024;

const attack = async (scene: Scene, target: Target, dose: Dose): Promise<Outcome> => {
  const { connections, stayMs, untilCut } = dose;
  const key = target.keys[TENANTS[15]!];
  const findings: string[] = [];
  let each = 0;
  const noticed = await unnoticed(scene, target, async () => {
    const before = await target.weigh();
    const sockets: Socket[] = [];
    for (let n = 0; n < connections; n += 1) {
      const [path, times] = REQUESTS[n % REQUESTS.length]!;
      const request = `GET ${path} HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${key}\r\n\r\n`;
      sockets.push(sendUnread(target.url, request.repeat(times)));
      // They are many and stay; floods are another attack.
      await sleep(20);
    }
    await sleep(1_000);
    each = ((await target.weigh()).memory - before.memory) / connections;
    if (each > MAX_BYTES_EACH) findings.push(`Each of them costs ${Math.round(each)} bytes`);
    await sleep(stayMs);
    let left = connections;
    // That it was cut is seen by who reads.
    for (const socket of sockets) socket.once('close', () => (left -= 1)).resume();
    await sleep(1_000);
    if (untilCut && left > 0) findings.push(`${left} of ${connections} are not cut after ${stayMs / 1_000} s`);
    for (const socket of sockets) socket.destroy();
  });
  return {
    dose: `${connections} connections with 20 to 150 requests each that never read`,
    seen: `${untilCut ? `cut within ${stayMs / 1_000} s` : 'gone once closed'}, ${Math.round(each / 1_024)} KiB each meanwhile; ${noticed.seen}`,
    findings: [...findings, ...noticed.findings],
  };
};

export const neverReaders: Scenario<Dose> = {
  name: 'S22',
  what: 'clients that send requests and never read',
  asvs: { '13.1.3': 'Configuration Documentation', '15.2.2': 'Security Architecture and Dependencies' },
  full: { connections: 250, stayMs: 40_000, untilCut: true },
  run: async (scene, dose, site) => attack(scene, await site.service('limited', DEFAULT_LIMITS), dose),
  guard: 'a connection without progress is cut',
  counterTest: { connections: 30 },
  without: async (scene, dose) => attack(scene, await openNaive(scene), dose),
};
