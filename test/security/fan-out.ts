import { Agent } from 'node:http';
import type { Outcome } from '../faults/fault.js';
import { ask } from '../faults/rig/ask.js';
import type { Scene } from '../faults/rig/scene.js';
import { slowDown } from '../faults/rig/watched.js';
import { cloudEvent, sent } from '../support/upstream.js';
import type { Attack } from './attack.js';
import { IMPATIENT, LENIENT, type Limits, STRICT, unnoticed } from './rig/bystanders.js';
import { type Opened, openService, TENANTS } from './rig/site.js';

interface Dose {
  /** Of the heaviest events that are legal, at full rate. */
  readonly seconds: number;
  readonly quietMs: number;
  readonly limits: Limits;
}

const ORGANIZATION = TENANTS[8]!;
const BATCH = 500;
/** As the specification of the events says. */
const MAX_BRANDS = 50;
const AT = '2026-03-01T00:00:00Z';
const TYPE = 'application/cloudevents-batch+json';

const reports = (run: string, batch: number, brands: number, size = BATCH): string =>
  JSON.stringify(
    Array.from({ length: size }, (_, n) => {
      const reportId = `${run}-${batch}-${n}`;
      const names = Array.from({ length: brands }, (_unused, brand) => `b-${n % 100}-${brand}`);
      return cloudEvent(
        sent(
          'ReportFiled',
          { organization: ORGANIZATION, reportId, brands: names, createdAt: AT, updatedAt: AT },
          reportId,
        ),
      );
    }),
  );

const attack = async (scene: Scene, target: Opened, { seconds, quietMs, limits }: Dose): Promise<Outcome> => {
  const run = `fan-${Date.now()}`;
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  const key = target.senders[ORGANIZATION];
  const post = (body: string): ReturnType<typeof ask> =>
    ask(`${target.url}/v2/events`, { method: 'POST', key, type: TYPE, body, agent, patience: 60_000 });
  const statuses = new Map<number, number>();
  let accepted = 0;
  let tooMany = 0;
  const { seen, findings } = await unnoticed(scene, target, { quietMs, limits }, async () => {
    // A million facts in two bodies.
    for (const batch of [0, 1]) tooMany += (await post(reports(`${run}-x`, batch, 1_000))).body.accepted ?? 0;
    tooMany += (await post(reports(`${run}-y`, 0, MAX_BRANDS + 1, 1))).body.accepted ?? 0;
    const until = Date.now() + seconds * 1_000;
    await Promise.all(
      [0, 1, 2, 3].map(async (lane) => {
        for (let batch = lane; Date.now() < until;) {
          const { status, body } = await post(reports(run, batch, MAX_BRANDS));
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          accepted += body.accepted ?? 0;
          scene.tell(`${accepted} heavy events accepted`);
          // What was refused is sent again at once, whatever Retry-After says.
          if (status === 200) batch += 4;
        }
      }),
    );
    agent.destroy();
  });
  const slowed = [...statuses].filter(([status]) => status !== 200 && status !== 429);
  return {
    dose: `1,000 events of 1,000 brands; events of ${MAX_BRANDS} at full rate for ${seconds} s`,
    seen: `${accepted} accepted, ${statuses.get(429) ?? 0} × 429; ${seen}`,
    findings: [
      ...findings,
      ...(tooMany > 0 ? [`${tooMany} events of more than ${MAX_BRANDS} brands were accepted`] : []),
      ...slowed.map(([status, n]) => `${n} batches were answered ${status}`),
    ],
  };
};

export const fanOut: Attack<Dose> = {
  name: 'S16',
  what: 'one organization’s events that each become many facts',
  asvs: { '8.4.1': 'Other Authorization Considerations', '2.3.2': 'Business Logic Security' },
  doses: {
    short: { seconds: 4, quietMs: 1_000, limits: LENIENT },
    full: { seconds: 60, quietMs: 10_000, limits: STRICT },
  },
  run: async ({ site, scene }, dose) => attack(scene, await site.service(), dose),
  guard: 'facts, not events, bound what is admitted and what is counted at once',
  // A projector that is stopped nine tenths of the time is as good as one that has more to count than it can.
  without: async ({ scene }) => {
    const target = await openService(scene);
    const stop = new AbortController();
    const slowing = slowDown(target.service.projectors[0]!, stop.signal);
    const outcome = await attack(scene, target, {
      seconds: 6,
      quietMs: 200,
      limits: { ...IMPATIENT, countedMs: STRICT.countedMs },
    });
    stop.abort();
    await slowing;
    return outcome;
  },
};
