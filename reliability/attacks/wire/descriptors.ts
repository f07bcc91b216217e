import { setTimeout as sleep } from 'node:timers/promises';
import type { Outcome, Scenario } from '../../scenario.js';
import type { RunContext } from '../../rig/run-context.js';
import { withBystanders } from '../../rig/bystanders.js';
import { sendUnread } from '../../../test/support/raw.js';
import { DEFAULT_LIMITS, startNaiveService } from '../../rig/shared-services.js';
import type { Target } from '../../rig/target.js';

interface Scale {
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

const attack = async (context: RunContext, target: Target, { connections }: Scale): Promise<Outcome> => {
  const { observed, findings } = await withBystanders(context, target, async () => {
    for (let n = 0; n < connections; n += 1) {
      const file = FILES[n % FILES.length]!;
      const socket = sendUnread(target.url, `GET ${file} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(PIPELINED));
      await sleep(250);
      // Some connections are closed, others are reset.
      if (n % 2 === 0) socket.resetAndDestroy();
      else socket.destroy();
    }
  });
  return {
    workload: `${connections} × ${PIPELINED} pipelined GET of ${FILES.length} files, closed unread`,
    observed,
    findings,
  };
};

export const descriptors: Scenario<Scale> = {
  name: 'S17',
  what: 'static files are requested without a key and never read',
  asvs: { '1.4.3': 'Memory, String, and Unmanaged Code', '13.1.3': 'Configuration Documentation' },
  full: { connections: 100 },
  run: async (context, scale, sharedServices) =>
    attack(context, await sharedServices.service('limited', DEFAULT_LIMITS), scale),
  guard: 'static files are served from memory',
  withoutGuard: async (context) => {
    const target = await startNaiveService(context);
    const before = await target.measureResources();
    const socket = sendUnread(target.url, 'GET /docs HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(PIPELINED));
    await sleep(500);
    socket.destroy();
    // Long enough for released descriptors to be closed.
    await sleep(1_500);
    const additional = (await target.measureResources()).descriptors - before.descriptors;
    return {
      workload: 'one connection',
      observed: '-',
      findings: additional > 100 ? [`The process still holds ${additional} descriptors more`] : [],
    };
  },
};
