import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Outcome, Scenario } from '../../scenario.js';
import type { RunContext } from '../../rig/run-context.js';
import { withBystanders } from '../../rig/bystanders.js';
import { sendUnread } from '../../../test/support/raw.js';
import { DEFAULT_LIMITS, startNaiveService, TENANTS } from '../../rig/shared-services.js';
import type { Target } from '../../rig/target.js';

interface Scale {
  readonly connections: number;
  /** How long the connections stay; after 30 s without progress the service must close them. */
  readonly stayMs: number;
  /** Whether the connections stay until the service closes them. */
  readonly untilCut: boolean;
}

/** Requests with large responses, more than socket buffers hold. */
const REQUESTS = [
  ['/openapi.json', 150],
  ['/docs/swagger-ui-bundle.js', 20],
] as const;
/** The maximum memory per connection. */
const MAX_BYTES_EACH = 4 * 1024 * 1024;

const attack = async (context: RunContext, target: Target, scale: Scale): Promise<Outcome> => {
  const { connections, stayMs, untilCut } = scale;
  const key = target.keys[TENANTS[15]!];
  const findings: string[] = [];
  let bytesPerConnection = 0;
  const outcome = await withBystanders(context, target, async () => {
    const before = await target.measureResources();
    const sockets: Socket[] = [];
    for (let n = 0; n < connections; n += 1) {
      const [path, times] = REQUESTS[n % REQUESTS.length]!;
      const request = `GET ${path} HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${key}\r\n\r\n`;
      sockets.push(sendUnread(target.url, request.repeat(times)));
      // Connections are opened slowly, because floods are another attack.
      await sleep(20);
    }
    await sleep(1_000);
    bytesPerConnection = ((await target.measureResources()).memory - before.memory) / connections;
    if (bytesPerConnection > MAX_BYTES_EACH)
      findings.push(`Each connection costs ${Math.round(bytesPerConnection)} bytes`);
    await sleep(stayMs);
    let stillOpen = connections;
    // A socket notices that it was closed only when it reads.
    for (const socket of sockets) socket.once('close', () => (stillOpen -= 1)).resume();
    await sleep(1_000);
    if (untilCut && stillOpen > 0)
      findings.push(`${stillOpen} of ${connections} were not closed after ${stayMs / 1_000} s`);
    for (const socket of sockets) socket.destroy();
  });
  return {
    workload: `${connections} connections with 20 to 150 requests each that never read`,
    observed: `${untilCut ? `closed within ${stayMs / 1_000} s` : 'released after the client closed them'}, ${Math.round(bytesPerConnection / 1_024)} KiB each; ${outcome.observed}`,
    findings: [...findings, ...outcome.findings],
  };
};

export const neverReaders: Scenario<Scale> = {
  name: 'S22',
  what: 'clients that send requests and never read',
  asvs: { '13.1.3': 'Configuration Documentation', '15.2.2': 'Security Architecture and Dependencies' },
  full: { connections: 250, stayMs: 40_000, untilCut: true },
  run: async (context, scale, sharedServices) =>
    attack(context, await sharedServices.service('limited', DEFAULT_LIMITS), scale),
  guard: 'connections without progress are closed',
  controlScale: { connections: 30 },
  withoutGuard: async (context, scale) => attack(context, await startNaiveService(context), scale),
};
