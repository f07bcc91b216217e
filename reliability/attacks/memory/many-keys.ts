import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { Outcome, Scenario } from '../../scenario.js';
import { ask } from '../../rig/ask.js';
import type { Scene } from '../../rig/scene.js';
import { unnoticed } from '../../rig/bystanders.js';
import { sendUnread } from '../../../test/support/raw.js';
import { type Opened, openService, QUIET, TENANTS } from '../../rig/site.js';

interface Dose {
  /** How often they fill what they can. Each time is held for as long as the service lets it. */
  readonly rounds: number;
}

const MB = 1024 * 1024;
const KEYS = 7;
/** 8 MiB that come as 8 KiB, without the end: what is read of it waits for the rest. */
const UNFINISHED = gzipSync(' '.repeat(8 * MB - 1)).subarray(0, -16);
const BODIES_OF_KEY = 2;
const HOLD_MS = 4_000;
/** What another organization sends meanwhile. */
const LARGE = JSON.stringify({ contents: ['a.example'] }).padEnd(400_000);

const unfinished = (key: string): Buffer =>
  Buffer.concat([
    Buffer.from(
      `POST /v2/events HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${key}\r\nContent-Type: application/cloudevents-batch+json\r\n` +
        `Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n${UNFINISHED.length.toString(16)}\r\n`,
    ),
    UNFINISHED,
    Buffer.from('\r\n'),
  ]);

const attack = async (scene: Scene, target: Opened, keys: readonly string[], { rounds }: Dose): Promise<Outcome> => {
  let asked = 0;
  const refused: number[] = [];
  const { seen, findings } = await unnoticed(scene, target, async () => {
    for (let round = 0; round < rounds; round += 1) {
      const sockets: Socket[] = [];
      for (const key of keys)
        for (let n = 0; n < BODIES_OF_KEY; n += 1) {
          sockets.push(sendUnread(target.url, unfinished(key)));
          // One after the other: what is refused because all come at once leaves room.
          await sleep(100);
        }
      for (const until = Date.now() + HOLD_MS; Date.now() < until; await sleep(100)) {
        const question = { key: target.keys[QUIET[0]]!, body: LARGE };
        const { status } = await ask(`${target.url}/v2/asset/check/bulk`, question);
        asked += 1;
        // 408 would say that this thread, which has the lowest priority, took too long to send it.
        if (status === 429 || status === 503) refused.push(status);
      }
      for (const socket of sockets) socket.destroy();
    }
  });
  const bytes = keys.length * BODIES_OF_KEY * UNFINISHED.length;
  return {
    dose: `${keys.length} keys with ${BODIES_OF_KEY} unfinished bodies each, ${Math.round(bytes / 1024)} KiB as sent, ${rounds} times`,
    seen: `${refused.length} of ${asked} bodies of 400 KB of another organization refused; ${seen}`,
    findings: [
      ...findings,
      ...(refused.length > 0
        ? [`${refused.length} of ${asked} large bodies of another were refused, the first with ${refused[0]}`]
        : []),
    ],
  };
};

export const manyKeys: Scenario<Dose> = {
  name: 'S28',
  what: 'an organization that uses the budget of a key for each of many keys',
  asvs: { '13.1.3': 'Configuration Documentation', '15.2.2': 'Security Architecture and Dependencies' },
  full: { rounds: 10 },
  run: async (scene, dose, site) => {
    const target = await site.service('weighed');
    const keys: string[] = [];
    for (let n = 0; n < KEYS; n += 1) keys.push((await target.issue(['read', 'ingest'], TENANTS[10]!)).key);
    return attack(scene, target, keys, dose);
  },
  guard: 'bodies count for the organization, whichever of its keys they come with',
  counterTest: { rounds: 1 },
  // What each key could hold if bodies counted for it alone: as if each were another organization's.
  without: async (scene, dose) => {
    const target = await openService(scene);
    const keys = TENANTS.slice(0, KEYS).map((organization) => target.senders[organization]!);
    return attack(scene, target, keys, dose);
  },
};
