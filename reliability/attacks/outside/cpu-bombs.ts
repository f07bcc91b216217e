import { hostileContents } from '../../../test/support/cases/hostile-shapes.js';
import type { Outcome, Scenario } from '../../scenario.js';
import { sendRequest, percentile } from '../../rig/http-request.js';
import { startNaiveService, TENANTS } from '../../rig/shared-services.js';
import type { Target } from '../../rig/target.js';

interface Scale {
  readonly items: number;
  readonly rounds: number;
  /** The limit per content in ms. */
  readonly contentMs: number;
  /** The maximum time of a range of 1,000 years as a multiple of the time of the range of all data. */
  readonly range: number;
}

const MAX_LENGTH = 4_096;
/** Short contents that could be expensive to parse. */
const SHAPES = hostileContents(MAX_LENGTH);

const attack = async ({ url, keys }: Target, { items, rounds, contentMs, range }: Scale): Promise<Outcome> => {
  const key = keys[TENANTS[4]!];
  const measure = async (contentOf: (n: number) => string): Promise<number> => {
    const json = { contents: Array.from({ length: items }, (_, n) => contentOf(n)) };
    return (await sendRequest(`${url}/v2/asset/check/bulk`, { key, json, timeoutMs: 120_000 })).ms / items;
  };
  const ranged = async (query: string): Promise<number> => {
    const durationsMs: number[] = [];
    for (let n = 0; n < rounds * 5; n += 1)
      durationsMs.push((await sendRequest(`${url}/v2/organization/metrics${query}`, { key })).ms);
    return percentile(durationsMs, 0.5);
  };
  const findings: string[] = [];
  let worst = { what: '', ms: 0 };
  const ordinaryHostMs = await measure((n) => `a${n}.example`);
  for (const [what, content] of SHAPES) {
    // The minimum counts, because other work on the machine adds time.
    const durationsMs: number[] = [];
    for (let n = 0; n < rounds; n += 1) durationsMs.push(await measure(() => content));
    const ms = Math.min(...durationsMs);
    if (ms > worst.ms) worst = { what, ms };
    if (ms > contentMs) findings.push(`${what} take ${ms.toFixed(2)} ms`);
  }
  const allTimeMs = await ranged('');
  const thousandYearsMs = await ranged('?startDate=1026-01-01T00:00:00.001Z&endDate=2026-01-01T00:00:00.001Z');
  if (thousandYearsMs > range * allTimeMs + 20)
    findings.push(`A range of 1,000 years takes ${thousandYearsMs.toFixed(1)} ms, all time ${allTimeMs.toFixed(1)} ms`);
  return {
    workload: `${SHAPES.length} shapes of ${MAX_LENGTH} characters, ${items} per request, ${rounds} times; a range of 1,000 years`,
    observed:
      `worst ${worst.ms.toFixed(3)} ms over HTTP (${worst.what}; an ordinary host ${ordinaryHostMs.toFixed(3)}), ` +
      `1,000 years ${thousandYearsMs.toFixed(1)} ms, all time ${allTimeMs.toFixed(1)} ms`,
    findings,
  };
};

export const cpuBombs: Scenario<Scale> = {
  name: 'S11',
  what: 'short texts that are expensive to parse, and the longest range',
  asvs: { '1.3.12': 'Sanitization', '15.1.3': 'Secure Coding and Architecture Documentation' },
  full: { items: 500, rounds: 5, contentMs: 1, range: 1.5 },
  run: async (_, scale, sharedServices) => attack(await sharedServices.service(), scale),
  guard: 'content is parsed in linear time',
  controlScale: { items: 1, rounds: 1 },
  withoutGuard: async (context, scale) => attack(await startNaiveService(context), scale),
};
