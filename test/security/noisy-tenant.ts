import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from 'node:http';
import type { Outcome } from '../faults/fault.js';
import { ask } from '../faults/rig/ask.js';
import type { Scene } from '../faults/rig/scene.js';
import { cloudEvent, sent } from '../support/upstream.js';
import type { Attack } from './attack.js';
import { IMPATIENT, LENIENT, type Limits, STRICT, unnoticed } from './rig/bystanders.js';
import { openNaive, TENANTS } from './rig/site.js';
import type { Target } from './rig/target.js';

interface Dose {
  readonly types: number;
  readonly days: number;
  readonly connections: number;
  readonly seconds: number;
  readonly quietMs: number;
  readonly limits: Limits;
}

const ORGANIZATION = TENANTS[14]!;
const BATCH = 1_000;
const DAY_MS = 86_400_000;
const TYPE = 'application/cloudevents-batch+json';

const threat = (run: number, n: number, type: string, at: number): object => {
  const time = new Date(at).toISOString();
  const id = `noisy-${run}-${n}`;
  const asset = { type, content: `${id}.example` };
  const data = { organization: ORGANIZATION, threatId: id, asset, status: 'BLOCKED', createdAt: time, updatedAt: time };
  return cloudEvent(sent('ThreatStatusChanged', data, id));
};

/** Sends them until they are taken, at the pace that the endpoint asks for. */
const deliver = async (
  target: Target,
  key: string | undefined,
  all: readonly object[],
): Promise<{ accepted: number }> => {
  let accepted = 0;
  for (let from = 0; from < all.length;) {
    const body = JSON.stringify(all.slice(from, from + BATCH));
    const answer = await ask(`${target.url}/v2/events`, { method: 'POST', key, type: TYPE, body, patience: 60_000 });
    if (answer.status === 429 || answer.status === 503) {
      await sleep(100);
      continue;
    }
    accepted += answer.body.accepted ?? 0;
    from += BATCH;
  }
  return { accepted };
};

const attack = async (scene: Scene, target: Target, dose: Dose): Promise<Outcome> => {
  const { types, days, connections, seconds, quietMs, limits } = dose;
  const run = Date.now();
  const findings: string[] = [];
  const now = Date.now();
  // What a key of the organization's own may not: types that nobody knows, and days before there were any.
  const odd = [
    ...Array.from({ length: 500 }, (_, n) => threat(run, -1 - n, `TYPE_${n}`, now)),
    ...Array.from({ length: 500 }, (_, n) => threat(run, -501 - n, 'URL', -DAY_MS * (n + 1))),
  ];
  const { accepted } = await deliver(target, target.senders[ORGANIZATION], odd);
  if (accepted > 0) findings.push(`${accepted} of ${odd.length} odd types and days were accepted`);
  scene.tell('filling the organization');
  // What upstream may say of it all the same.
  await deliver(target, target.ingest, [
    ...Array.from({ length: types }, (_, n) => threat(run, n, `TYPE_${n}`, now - n * 1_000)),
    ...Array.from({ length: days }, (_, n) => threat(run, types + n, 'URL', (n * DAY_MS) % now)),
  ]);
  const statuses = new Map<number, number>();
  let without = 0;
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const noticed = await unnoticed(scene, target, { quietMs, limits }, async () => {
    const until = Date.now() + seconds * 1_000;
    let n = 0;
    const lane = async (): Promise<void> => {
      while (Date.now() < until) {
        n += 1;
        const start = new Date(n * 3_601_000 + 1).toISOString();
        const { status, headers } = await ask(`${target.url}/v2/organization/metrics?startDate=${start}`, {
          key: target.keys[ORGANIZATION],
          agent,
          patience: 60_000,
        });
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        if ((status === 429 || status === 503) && !headers['retry-after']) without += 1;
        if (status !== 200) await sleep(20);
      }
    };
    await Promise.all(Array.from({ length: connections }, lane));
    agent.destroy();
  });
  const odds = [...statuses].filter(([status]) => ![200, 422, 429, 503].includes(status));
  return {
    dose: `${types} types and ${days} days, ${connections} queries at once for ${seconds} s`,
    seen: `its own: ${[...statuses].map(([status, times]) => `${times} × ${status}`).join(', ')}; ${noticed.seen}`,
    findings: [
      ...findings,
      ...noticed.findings,
      ...odds.map(([status, times]) => `${times} of its queries were answered ${status}`),
      ...(without > 0 ? [`${without} refusals to be repeated have no Retry-After`] : []),
    ],
  };
};

export const noisyTenant: Attack<Dose> = {
  name: 'S21',
  what: 'one organization’s queries are expensive and many',
  asvs: { '8.4.1': 'Other Authorization Considerations', '15.4.4': 'Safe Concurrency', '2.2.1': 'Input Validation' },
  doses: {
    short: { types: 3_000, days: 3_000, connections: 50, seconds: 3, quietMs: 1_000, limits: LENIENT },
    full: { types: 100_000, days: 20_000, connections: 200, seconds: 30, quietMs: 10_000, limits: STRICT },
  },
  run: async ({ site, scene }, dose) => attack(scene, await site.service(), dose),
  guard: 'at most two queries an organization at a time',
  without: async ({ scene }) =>
    attack(scene, await openNaive(scene), {
      ...noisyTenant.doses.short,
      limits: IMPATIENT,
      types: 2_000,
      days: 0,
      connections: 80,
      seconds: 1,
      quietMs: 200,
    }),
};
