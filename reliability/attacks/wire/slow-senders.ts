import { setTimeout as sleep } from 'node:timers/promises';
import type { Outcome, Scenario } from '../../scenario.js';
import type { RunContext } from '../../rig/run-context.js';
import { withBystanders } from '../../rig/bystanders.js';
import { drip } from '../../../test/support/raw.js';
import { startNaiveService, TENANTS } from '../../rig/shared-services.js';
import type { Target } from '../../rig/target.js';

interface Scale {
  readonly headers: number;
  readonly bodies: number;
  /** The limits are 5 s for headers and 10 s for a request; a busy machine enforces them later. */
  readonly cutWithinMs: number;
}

const BYTE_EVERY_MS = 1_000;

const attack = async (context: RunContext, target: Target, scale: Scale): Promise<Outcome> => {
  const { headers, bodies, cutWithinMs } = scale;
  const key = target.keys[TENANTS[0]!];
  const post =
    `POST /v2/organization/asset-groups HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${key}\r\n` +
    'Content-Type: application/json\r\nContent-Length: 60000\r\n\r\n{';
  let unfinished = headers + bodies;
  let uncut = 0;
  let other = 0;
  const answers: string[] = [];
  const { observed, findings } = await withBystanders(context, target, async () => {
    const slow = [
      ...Array.from({ length: headers }, (_, i) =>
        drip(target.url, {
          head: `GET /health/live HTTP/1.1\r\nHost: a\r\nX-${i}: `,
          piece: 'a',
          everyMs: BYTE_EVERY_MS,
        }),
      ),
      ...Array.from({ length: bodies }, () => drip(target.url, { head: post, piece: ' ', everyMs: BYTE_EVERY_MS })),
    ];
    for (const { closed } of slow)
      void closed.then((answer) => {
        unfinished -= 1;
        answers.push(answer);
      });
    const begin = Date.now();
    while (unfinished > 0 && Date.now() - begin < cutWithinMs) await sleep(50);
    uncut = unfinished;
    other = answers.filter((answer) => !answer.startsWith('HTTP/1.1 408 ')).length;
    for (const { socket } of slow) socket.destroy();
  });
  return {
    workload: `${headers} slow headers, ${bodies} slow bodies`,
    observed: `all closed within ${cutWithinMs / 1000} s with 408; ${observed}`,
    findings: [
      ...findings,
      ...(uncut > 0 ? [`${uncut} connections were not closed within ${cutWithinMs / 1000} s`] : []),
      ...(other > 0 ? [`${other} connections got another status than 408`] : []),
    ],
  };
};

export const slowSenders: Scenario<Scale> = {
  name: 'S5',
  what: 'a thousand connections that send one byte per second',
  asvs: { '15.2.2': 'Security Architecture and Dependencies', '13.1.3': 'Configuration Documentation' },
  full: { headers: 1_000, bodies: 200, cutWithinMs: 15_000 },
  run: async (context, scale, sharedServices) => attack(context, await sharedServices.service(), scale),
  guard: 'timeouts for headers and whole requests',
  controlScale: { headers: 20, bodies: 5 },
  withoutGuard: async (context, scale) => attack(context, await startNaiveService(context), scale),
};
