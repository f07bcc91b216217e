import type { Outcome } from '../faults/fault.js';
import { ask } from '../faults/rig/ask.js';
import { eventually } from '../support/eventually.js';
import { cloudEvent, type Sent, sent } from '../support/upstream.js';
import type { Attack } from './attack.js';
import { openNaive, TENANTS } from './rig/site.js';
import type { Target } from './rig/target.js';

interface Dose {
  readonly events: number;
  /** How long something is waited for that must come, ms. */
  readonly patienceMs: number;
}

const [THIEF, VICTIM] = [TENANTS[9]!, TENANTS[10]!];
const AT = '2026-03-01T00:00:00Z';
const BATCH = 500;
const TYPE = 'application/cloudevents-batch+json';

const attack = async (target: Target, { events, patienceMs }: Dose): Promise<Outcome> => {
  const findings: string[] = [];
  const run = `s18-${Date.now()}`;
  const post = async (
    key: string | undefined,
    all: readonly object[],
  ): Promise<{ accepted: number; rejected: number }> => {
    const total = { accepted: 0, rejected: 0 };
    for (let from = 0; from < all.length; from += BATCH) {
      const body = JSON.stringify(all.slice(from, from + BATCH));
      const answer = await ask(`${target.url}/v2/events`, { method: 'POST', key, type: TYPE, body });
      total.accepted += answer.body.accepted ?? 0;
      total.rejected += answer.body.rejected?.length ?? 0;
    }
    return total;
  };
  const counts = async (): Promise<number> =>
    (await ask(`${target.url}/v2/organization/metrics`, { key: target.keys[VICTIM] })).body.metrics.newThreats;
  const verdict = async (content: string): Promise<string> =>
    (
      await ask(`${target.url}/v2/asset/check`, {
        method: 'POST',
        key: target.keys[VICTIM],
        type: 'application/json',
        body: JSON.stringify({ content }),
      })
    ).body.status;

  const threat = (organization: string, n: number): Sent => {
    const asset = { type: 'URL', content: `${run}-${n}.example` };
    const data = { organization, threatId: `${run}-${n}`, asset, status: 'BLOCKED', createdAt: AT, updatedAt: AT };
    return sent('ThreatStatusChanged', data, `${run}-${n}`);
  };
  const blocked = (n: number): Sent => {
    const asset = { type: 'URL', content: `${run}-${n}.example` };
    return sent(
      'AssetStatusChanged',
      { changeId: `${run}-c-${n}`, asset, status: 'BLOCKED', brandReviews: [], createdAt: AT },
      `${run}-c-${n}`,
    );
  };
  const numbers = Array.from({ length: events }, (_, n) => n);
  const before = await counts();
  // First come, first served: every id that upstream will use, on records of the organization's own.
  await post(
    target.senders[THIEF],
    numbers.map((n) => cloudEvent(threat(THIEF, n))),
  );
  await post(
    target.senders[THIEF],
    numbers.map((n) => cloudEvent({ ...threat(THIEF, n), id: `${run}-c-${n}` })),
  );
  const { accepted } = await post(
    target.ingest,
    numbers.flatMap((n) => [threat(VICTIM, n), blocked(n)]).map(cloudEvent),
  );
  if (accepted !== 2 * events)
    findings.push(`${2 * events - accepted} of ${2 * events} events of others were taken for repeated ones`);
  // One id that reads like another's source and id together.
  const broken = ['\n', '\r', '\0', '\u0085', '\u001f'].map((cut) => ({
    ...cloudEvent(threat(THIEF, 0)),
    id: `a${cut}b`,
  }));
  const odd = await post(target.senders[THIEF], [
    ...broken,
    ...broken.map((event) => ({ ...event, id: 'a', source: `urn:a${event.id}` })),
  ]);
  if (odd.accepted > 0) findings.push(`${odd.accepted} ids or sources with control characters were accepted`);
  await eventually('everything is counted', async () => (await counts()) >= before + events, patienceMs).catch(() => {
    /* said below */
  });
  const counted = (await counts()) - before;
  if (counted !== events) findings.push(`${counted} of ${events} threats of the other organization are counted`);
  const kept = await eventually(
    'the verdict is there',
    async () => (await verdict(`${run}-0.example`)) === 'BLOCKED',
    patienceMs,
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

export const swallowedIds: Attack<Dose> = {
  name: 'S18',
  what: 'an organization uses the ids of others’ events first',
  asvs: { '8.4.1': 'Other Authorization Considerations', '8.2.2': 'General Authorization Design' },
  doses: { short: { events: 100, patienceMs: 10_000 }, full: { events: 10_000, patienceMs: 60_000 } },
  run: async ({ site }, dose) => attack(await site.service(), dose),
  guard: 'an event’s id is made of the record it is about, too',
  without: async ({ scene }) => attack(await openNaive(scene), { events: 20, patienceMs: 500 }),
};
