import type { Outcome, Scenario } from '../../scenario.js';
import type { RunContext } from '../../rig/run-context.js';
import { slowDown } from '../../rig/memory-reports.js';
import { cloudEvent, sentReport } from '../../../test/support/upstream.js';
import { withBystanders } from '../../rig/bystanders.js';
import { CONNECTIONS, sendAtFullRate } from '../../rig/full-rate.js';
import { sendAll } from '../../rig/send-all.js';
import { type RunningService, startAttackTarget, TENANTS } from '../../rig/shared-services.js';

interface Scale {
  /** How long the most expensive valid events are sent at full rate. */
  readonly seconds: number;
}

const ORGANIZATION = TENANTS[8]!;
const BATCH = 500;
/** The maximum number of brands per event. */
const MAX_BRANDS = 50;

const reports = (run: string, batch: number, brands: number, size = BATCH): object[] =>
  Array.from({ length: size }, (_, n) => {
    const reportId = `${run}-${batch}-${n}`;
    const names = Array.from({ length: brands }, (_unused, brand) => `b-${n % 100}-${brand}`);
    return cloudEvent(sentReport(reportId, { organization: ORGANIZATION, brands: names }, reportId));
  });

const attack = async (context: RunContext, target: RunningService, { seconds }: Scale): Promise<Outcome> => {
  const run = `fan-${Date.now()}`;
  let sent: Awaited<ReturnType<typeof sendAtFullRate>> | undefined;
  let tooMany = 0;
  const { observed, findings } = await withBystanders(context, target, async () => {
    // A million facts in two bodies.
    const millionFacts = [...reports(`${run}-x`, 0, 1_000), ...reports(`${run}-x`, 1, 1_000)];
    const tooManyBrands = [...millionFacts, ...reports(`${run}-y`, 0, MAX_BRANDS + 1, 1)];
    tooMany = (await sendAll(target, target.ingestKeys[ORGANIZATION], tooManyBrands, BATCH)).accepted;
    sent = await sendAtFullRate(context, target, { organization: ORGANIZATION, seconds }, (connection, n) =>
      reports(run, connection + n * CONNECTIONS, MAX_BRANDS),
    );
  });
  const { accepted, statuses } = sent!;
  return {
    workload: `1,000 events of 1,000 brands; events of ${MAX_BRANDS} at full rate for ${seconds} s`,
    observed: `${accepted} accepted, ${statuses.countOf(429)} × 429; ${observed}`,
    findings: [
      ...findings,
      ...(tooMany > 0 ? [`${tooMany} events of more than ${MAX_BRANDS} brands were accepted`] : []),
      ...statuses.check(200, 429),
    ],
  };
};

export const fanOut: Scenario<Scale> = {
  name: 'S16',
  what: 'one organization sends events that each become many facts',
  asvs: { '8.4.1': 'Other Authorization Considerations', '2.3.2': 'Business Logic Security' },
  full: { seconds: 60 },
  run: async (context, scale, sharedServices) => attack(context, await sharedServices.service(), scale),
  guard: 'backpressure and batches are limited by facts, not by events',
  controlScale: { seconds: 6 },
  // A projector that is stopped for nine tenths of the time cannot keep up.
  withoutGuard: async (context, scale) => {
    const target = await startAttackTarget(context);
    const speedUp = slowDown(target.service.projectors[0]!);
    const outcome = await attack(context, target, scale);
    await speedUp();
    return outcome;
  },
};
