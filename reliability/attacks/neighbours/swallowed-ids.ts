import type { Outcome, Scenario } from '../../scenario.js';
import { ask } from '../../rig/ask.js';
import { eventually } from '../../../test/support/eventually.js';
import { cloudEvent, type Sent, sentStatus, sentThreat } from '../../../test/support/upstream.js';
import { sendAll } from '../../rig/send-all.js';
import { openNaive, TENANTS } from '../../rig/site.js';
import type { Target } from '../../rig/target.js';
import { verdictsOf } from '../../rig/verdicts.js';

interface Dose {
  readonly events: number;
  /** How long something is waited for that must come, ms. */
  readonly timeoutMs: number;
}

const [THIEF, VICTIM] = [TENANTS[9]!, TENANTS[10]!];

const attack = async (target: Target, { events, timeoutMs }: Dose): Promise<Outcome> => {
  const findings: string[] = [];
  const run = `s18-${Date.now()}`;
  const counts = async (): Promise<number> =>
    (await ask(`${target.url}/v2/organization/metrics`, { key: target.keys[VICTIM] })).body.metrics.newThreats;
  const assetOf = (n: number): object => ({ type: 'URL', content: `${run}-${n}.example` });
  const threat = (organization: string, n: number): Sent =>
    sentThreat(`${run}-${n}`, { organization, asset: assetOf(n) }, `${run}-${n}`);
  const blocked = (n: number): Sent => sentStatus(`${run}-c-${n}`, { asset: assetOf(n) }, `${run}-c-${n}`);
  const numbers = Array.from({ length: events }, (_, n) => n);
  const before = await counts();
  // First come, first served: every id that upstream will use, on records of the organization's own.
  const stolen = numbers.flatMap((n) => [threat(THIEF, n), { ...threat(THIEF, n), id: `${run}-c-${n}` }]);
  await sendAll(target, target.senders[THIEF], stolen.map(cloudEvent));
  const due = numbers.flatMap((n) => [threat(VICTIM, n), blocked(n)]);
  const { accepted } = await sendAll(target, target.ingest, due.map(cloudEvent));
  if (accepted !== 2 * events)
    findings.push(`${2 * events - accepted} of ${2 * events} events of others were taken for repeated ones`);
  // One id that reads like another's source and id together.
  const broken = ['\n', '\r', '\0', '\u0085', '\u001f'].map((cut) => ({
    ...cloudEvent(threat(THIEF, 0)),
    id: `a${cut}b`,
  }));
  const odd = await sendAll(target, target.senders[THIEF], [
    ...broken,
    ...broken.map((event) => ({ ...event, id: 'a', source: `urn:a${event.id}` })),
  ]);
  if (odd.accepted > 0) findings.push(`${odd.accepted} ids or sources with control characters were accepted`);
  await eventually('everything is counted', async () => (await counts()) >= before + events, timeoutMs).catch(() => {
    /* said below */
  });
  const counted = (await counts()) - before;
  if (counted !== events) findings.push(`${counted} of ${events} threats of the other organization are counted`);
  const kept = await eventually(
    'the verdict is there',
    async () => (await verdictsOf(target, VICTIM, [`${run}-0.example`]))[0]!.status === 'BLOCKED',
    timeoutMs,
  ).then(
    () => true,
    () => false,
  );
  if (!kept) findings.push('A verdict for everybody has vanished');
  return {
    dose: `${2 * events} ids used before their owner`,
    seen: `0 swallowed, ${counted} threats counted, verdicts kept, control characters refused`,
    findings,
  };
};

export const swallowedIds: Scenario<Dose> = {
  name: 'S18',
  what: 'an organization uses the ids of others’ events first',
  asvs: { '8.4.1': 'Other Authorization Considerations', '8.2.2': 'General Authorization Design' },
  full: { events: 10_000, timeoutMs: 60_000 },
  run: async (_, dose, site) => attack(await site.service(), dose),
  guard: 'an event’s id is made of the record it is about, too',
  counterTest: { events: 20, timeoutMs: 500 },
  without: async (scene, dose) => attack(await openNaive(scene), dose),
};
