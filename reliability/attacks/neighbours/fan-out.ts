import type { Outcome, Scenario } from '../../scenario.js';
import type { Scene } from '../../rig/scene.js';
import { slowDown } from '../../rig/watched.js';
import { cloudEvent, sentReport } from '../../../test/support/upstream.js';
import { unnoticed } from '../../rig/bystanders.js';
import { CONNECTIONS, sendAtFullRate } from '../../rig/full-rate.js';
import { sendAll } from '../../rig/send-all.js';
import { type Opened, openService, TENANTS } from '../../rig/site.js';

interface Dose {
  /** Of the heaviest events that are legal, at full rate. */
  readonly seconds: number;
}

const ORGANIZATION = TENANTS[8]!;
const BATCH = 500;
/** As the specification of the events says. */
const MAX_BRANDS = 50;

const reports = (run: string, batch: number, brands: number, size = BATCH): object[] =>
  Array.from({ length: size }, (_, n) => {
    const reportId = `${run}-${batch}-${n}`;
    const names = Array.from({ length: brands }, (_unused, brand) => `b-${n % 100}-${brand}`);
    return cloudEvent(sentReport(reportId, { organization: ORGANIZATION, brands: names }, reportId));
  });

const attack = async (scene: Scene, target: Opened, { seconds }: Dose): Promise<Outcome> => {
  const run = `fan-${Date.now()}`;
  let sent: Awaited<ReturnType<typeof sendAtFullRate>> | undefined;
  let tooMany = 0;
  const { seen, findings } = await unnoticed(scene, target, async () => {
    // A million facts in two bodies.
    const heavy = [...reports(`${run}-x`, 0, 1_000), ...reports(`${run}-x`, 1, 1_000)];
    const wrong = [...heavy, ...reports(`${run}-y`, 0, MAX_BRANDS + 1, 1)];
    tooMany = (await sendAll(target, target.senders[ORGANIZATION], wrong, BATCH)).accepted;
    sent = await sendAtFullRate(scene, target, { organization: ORGANIZATION, seconds }, (connection, n) =>
      reports(run, connection + n * CONNECTIONS, MAX_BRANDS),
    );
  });
  const { accepted, statuses } = sent!;
  return {
    dose: `1,000 events of 1,000 brands; events of ${MAX_BRANDS} at full rate for ${seconds} s`,
    seen: `${accepted} accepted, ${statuses.of(429)} × 429; ${seen}`,
    findings: [
      ...findings,
      ...(tooMany > 0 ? [`${tooMany} events of more than ${MAX_BRANDS} brands were accepted`] : []),
      ...statuses.check(200, 429),
    ],
  };
};

export const fanOut: Scenario<Dose> = {
  name: 'S16',
  what: 'one organization’s events that each become many facts',
  asvs: { '8.4.1': 'Other Authorization Considerations', '2.3.2': 'Business Logic Security' },
  full: { seconds: 60 },
  run: async (scene, dose, site) => attack(scene, await site.service(), dose),
  guard: 'facts, not events, bound what is admitted and what is counted at once',
  counterTest: { seconds: 6 },
  // A projector that is stopped nine tenths of the time is as good as one that has more to count than it can.
  without: async (scene, dose) => {
    const target = await openService(scene);
    const speedUp = slowDown(target.service.projectors[0]!);
    const outcome = await attack(scene, target, dose);
    await speedUp();
    return outcome;
  },
};
