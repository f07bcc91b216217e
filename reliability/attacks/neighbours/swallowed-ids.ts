import type { Outcome, Scenario } from '../../scenario.js';
import { sendRequest } from '../../rig/http-request.js';
import { eventually } from '../../../test/support/eventually.js';
import { cloudEvent, type Sent, sentStatus, sentThreat } from '../../../test/support/upstream.js';
import { sendAll } from '../../rig/send-all.js';
import { startNaiveService, TENANTS } from '../../rig/shared-services.js';
import type { Target } from '../../rig/target.js';
import { verdictsOf } from '../../rig/verdicts.js';

interface Scale {
  readonly events: number;
  /** The timeout of conditions. */
  readonly timeoutMs: number;
}

const [THIEF, VICTIM] = [TENANTS[9]!, TENANTS[10]!];

const attack = async (target: Target, { events, timeoutMs }: Scale): Promise<Outcome> => {
  const findings: string[] = [];
  const run = `s18-${Date.now()}`;
  const counts = async (): Promise<number> =>
    (await sendRequest(`${target.url}/v2/organization/metrics`, { key: target.keys[VICTIM] })).body.metrics.newThreats;
  const assetOf = (n: number): object => ({ type: 'URL', content: `${run}-${n}.example` });
  const threat = (organization: string, n: number): Sent =>
    sentThreat(`${run}-${n}`, { organization, asset: assetOf(n) }, `${run}-${n}`);
  const blocked = (n: number): Sent => sentStatus(`${run}-c-${n}`, { asset: assetOf(n) }, `${run}-c-${n}`);
  const numbers = Array.from({ length: events }, (_, n) => n);
  const before = await counts();
  // Uses every id that upstream will use later, for records of the attacking organization.
  const stolen = numbers.flatMap((n) => [threat(THIEF, n), { ...threat(THIEF, n), id: `${run}-c-${n}` }]);
  await sendAll(target, target.ingestKeys[THIEF], stolen.map(cloudEvent));
  const expected = numbers.flatMap((n) => [threat(VICTIM, n), blocked(n)]);
  const { accepted } = await sendAll(target, target.upstreamKey, expected.map(cloudEvent));
  if (accepted !== 2 * events)
    findings.push(`${2 * events - accepted} of ${2 * events} events of others were treated as duplicates`);
  // An id that equals the source and id of another event when concatenated.
  const withControlCharacters = ['\n', '\r', '\0', '\u0085', '\u001f'].map((cut) => ({
    ...cloudEvent(threat(THIEF, 0)),
    id: `a${cut}b`,
  }));
  const answer = await sendAll(target, target.ingestKeys[THIEF], [
    ...withControlCharacters,
    ...withControlCharacters.map((event) => ({ ...event, id: 'a', source: `urn:a${event.id}` })),
  ]);
  if (answer.accepted > 0) findings.push(`${answer.accepted} ids or sources with control characters were accepted`);
  await eventually('everything is counted', async () => (await counts()) >= before + events, timeoutMs).catch(() => {
    /* said below */
  });
  const counted = (await counts()) - before;
  if (counted !== events) findings.push(`${counted} of ${events} threats of the other organization are counted`);
  const verdict = await eventually(
    'the verdict is there',
    async () => (await verdictsOf(target, VICTIM, [`${run}-0.example`]))[0]!.status === 'BLOCKED',
    timeoutMs,
  ).then(
    () => true,
    () => false,
  );
  if (!verdict) findings.push('A verdict for all organizations has disappeared');
  return {
    workload: `${2 * events} ids used before upstream uses them`,
    observed: `no event lost, ${counted} threats counted, verdicts kept, control characters rejected`,
    findings,
  };
};

export const swallowedIds: Scenario<Scale> = {
  name: 'S18',
  what: 'one organization uses the event ids of others first',
  asvs: { '8.4.1': 'Other Authorization Considerations', '8.2.2': 'General Authorization Design' },
  full: { events: 10_000, timeoutMs: 60_000 },
  run: async (_, scale, sharedServices) => attack(await sharedServices.service(), scale),
  guard: 'the stored event id also depends on the record',
  controlScale: { events: 20, timeoutMs: 500 },
  withoutGuard: async (context, scale) => attack(await startNaiveService(context), scale),
};
