import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from 'node:http';
import type { Outcome, Scenario } from '../../scenario.js';
import { sendRequest } from '../../rig/http-request.js';
import type { RunContext } from '../../rig/run-context.js';
import { cloudEvent, sentThreat } from '../../../test/support/upstream.js';
import { withBystanders } from '../../rig/bystanders.js';
import { sendAll } from '../../rig/send-all.js';
import { startNaiveService, TENANTS } from '../../rig/shared-services.js';
import { Statuses } from '../../rig/statuses.js';
import type { Target } from '../../rig/target.js';

interface Scale {
  readonly types: number;
  readonly days: number;
  readonly connections: number;
  readonly seconds: number;
}

const ORGANIZATION = TENANTS[14]!;
const BATCH = 1_000;
const DAY_MS = 86_400_000;

const threat = (run: number, n: number, type: string, at: number): object => {
  const time = new Date(at).toISOString();
  const id = `noisy-${run}-${n}`;
  const asset = { type, content: `${id}.example` };
  const data = { organization: ORGANIZATION, asset, status: 'BLOCKED', createdAt: time, updatedAt: time };
  return cloudEvent(sentThreat(id, data, id));
};

const attack = async (context: RunContext, target: Target, scale: Scale): Promise<Outcome> => {
  const { types, days, connections, seconds } = scale;
  const run = Date.now();
  const findings: string[] = [];
  const now = Date.now();
  // Unknown types and days in the far past, which a key of the organization may not send.
  const forbiddenEvents = [
    ...Array.from({ length: 500 }, (_, n) => threat(run, -1 - n, `TYPE_${n}`, now)),
    ...Array.from({ length: 500 }, (_, n) => threat(run, -501 - n, 'URL', -DAY_MS * (n + 1))),
  ];
  const { accepted } = await sendAll(target, target.ingestKeys[ORGANIZATION], forbiddenEvents, BATCH);
  if (accepted > 0)
    findings.push(
      `${accepted} of ${forbiddenEvents.length} events with unknown types or days in the far past were accepted`,
    );
  context.reportProgress('filling the organization');
  // A key of upstream may send such types and days.
  const upstreamEvents = [
    ...Array.from({ length: types }, (_, n) => threat(run, n, `TYPE_${n}`, now - n * 1_000)),
    ...Array.from({ length: days }, (_, n) => threat(run, types + n, 'URL', (n * DAY_MS) % now)),
  ];
  await sendAll(target, target.upstreamKey, upstreamEvents, BATCH);
  const statuses = new Statuses();
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const outcome = await withBystanders(context, target, async () => {
    const until = Date.now() + seconds * 1_000;
    let n = 0;
    const lane = async (): Promise<void> => {
      while (Date.now() < until) {
        n += 1;
        const start = new Date(n * 3_601_000 + 1).toISOString();
        const { status, headers } = await sendRequest(`${target.url}/v2/organization/metrics?startDate=${start}`, {
          key: target.keys[ORGANIZATION],
          agent,
          timeoutMs: 60_000,
        });
        statuses.add(status, headers);
        if (status !== 200) await sleep(20);
      }
    };
    await Promise.all(Array.from({ length: connections }, lane));
    agent.destroy();
  });
  return {
    workload: `${types} types and ${days} days, ${connections} queries at once for ${seconds} s`,
    observed: `own requests: ${statuses}; ${outcome.observed}`,
    findings: [...findings, ...outcome.findings, ...statuses.check(200, 422, 429, 503)],
  };
};

export const noisyTenant: Scenario<Scale> = {
  name: 'S21',
  what: 'one organization sends many expensive queries',
  asvs: { '8.4.1': 'Other Authorization Considerations', '15.4.4': 'Safe Concurrency', '2.2.1': 'Input Validation' },
  full: { types: 100_000, days: 20_000, connections: 200, seconds: 30 },
  run: async (context, scale, sharedServices) => attack(context, await sharedServices.service(), scale),
  guard: 'one metrics query at a time per organization',
  controlScale: { types: 2_000, days: 0, connections: 80, seconds: 1 },
  withoutGuard: async (context, scale) => attack(context, await startNaiveService(context), scale),
};
