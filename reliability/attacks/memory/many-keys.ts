import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { Outcome, Scenario } from '../../scenario.js';
import { sendRequest } from '../../rig/http-request.js';
import type { RunContext } from '../../rig/run-context.js';
import { withBystanders } from '../../rig/bystanders.js';
import { sendUnread } from '../../../test/support/raw.js';
import { type RunningService, startAttackTarget, QUIET, TENANTS } from '../../rig/shared-services.js';

interface Scale {
  /** How often the keys fill the memory budget. Each round lasts as long as the service allows. */
  readonly rounds: number;
}

const MB = 1024 * 1024;
const KEYS = 7;
/** A body of 8 MiB, compressed to 8 KiB, without its end. */
const UNFINISHED = gzipSync(' '.repeat(8 * MB - 1)).subarray(0, -16);
const BODIES_OF_KEY = 2;
const HOLD_MS = 4_000;
/** The body that another organization sends meanwhile. */
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

const attack = async (
  context: RunContext,
  target: RunningService,
  keys: readonly string[],
  { rounds }: Scale,
): Promise<Outcome> => {
  let sentBodies = 0;
  const refused: number[] = [];
  const { observed, findings } = await withBystanders(context, target, async () => {
    for (let round = 0; round < rounds; round += 1) {
      const sockets: Socket[] = [];
      for (const key of keys)
        for (let n = 0; n < BODIES_OF_KEY; n += 1) {
          sockets.push(sendUnread(target.url, unfinished(key)));
          // Sent one after the other, because concurrent bodies would be rejected for another reason.
          await sleep(100);
        }
      for (const until = Date.now() + HOLD_MS; Date.now() < until; await sleep(100)) {
        const question = { key: target.keys[QUIET[0]]!, body: LARGE };
        const { status } = await sendRequest(`${target.url}/v2/asset/check/bulk`, question);
        sentBodies += 1;
        // A 408 means that this low-priority thread sent too slowly.
        if (status === 429 || status === 503) refused.push(status);
      }
      for (const socket of sockets) socket.destroy();
    }
  });
  const bytes = keys.length * BODIES_OF_KEY * UNFINISHED.length;
  return {
    workload: `${keys.length} keys with ${BODIES_OF_KEY} unfinished bodies each, ${Math.round(bytes / 1024)} KiB as sent, ${rounds} times`,
    observed: `${refused.length} of ${sentBodies} bodies of 400 KB of another organization rejected; ${observed}`,
    findings: [
      ...findings,
      ...(refused.length > 0
        ? [
            `${refused.length} of ${sentBodies} large bodies of another organization were rejected, the first with ${refused[0]}`,
          ]
        : []),
    ],
  };
};

export const manyKeys: Scenario<Scale> = {
  name: 'S28',
  what: 'one organization uses many keys, each up to the memory budget of request bodies',
  asvs: { '13.1.3': 'Configuration Documentation', '15.2.2': 'Security Architecture and Dependencies' },
  full: { rounds: 10 },
  run: async (context, scale, sharedServices) => {
    const target = await sharedServices.service('weighed');
    const keys: string[] = [];
    for (let n = 0; n < KEYS; n += 1) keys.push((await target.issue(['read', 'ingest'], TENANTS[10]!)).key);
    return attack(context, target, keys, scale);
  },
  guard: 'the memory budget of request bodies is per organization, not per key',
  controlScale: { rounds: 1 },
  // Simulates a budget per key: each key belongs to another organization.
  withoutGuard: async (context, scale) => {
    const target = await startAttackTarget(context);
    const keys = TENANTS.slice(0, KEYS).map((organization) => target.ingestKeys[organization]!);
    return attack(context, target, keys, scale);
  },
};
