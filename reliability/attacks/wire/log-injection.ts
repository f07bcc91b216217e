import { setTimeout as sleep } from 'node:timers/promises';
import type { Outcome, Scenario } from '../../scenario.js';
import { ask } from '../../rig/ask.js';
import { inLanes } from '../../rig/lanes.js';
import { sendRaw } from '../../../test/support/raw.js';
import { openNaive, TENANTS } from '../../rig/site.js';
import type { Target } from '../../rig/target.js';

interface Dose {
  readonly rounds: number;
}

/** No address of anybody: kept for documents. */
const FORGED_ADDRESS = '203.0.113.77';
const FORGED_HOST = 'forged-host.example';
const BREAKS = ['%0d%0a', '%0a', '%0d', '%e2%80%a8', '%c2%85', '%00%0a', '%1b%5b2K%0d'];

/** Every line of a log is one object; a forged line would begin with this. */
const FORGED_LINE = '{"level":"info","message":"FORGED';

const attack = async (target: Target, { rounds }: Dose): Promise<Outcome> => {
  const key = target.keys[TENANTS[3]!]!;
  const { url } = target;
  const from = target.output().length;
  const findings: string[] = [];
  const line = encodeURIComponent(`${FORGED_LINE}"}`);
  await inLanes(8, rounds * BREAKS.length, async (n) => {
    const cut = BREAKS[n % BREAKS.length]!;
    const { headers } = await ask(`${url}/v2/${cut}${line}${cut}?startDate=${cut}${line}`, {
      key,
      headers: { 'x-forwarded-for': FORGED_ADDRESS, 'x-real-ip': FORGED_ADDRESS, 'x-request-id': `a b${n}"` },
    });
    if (headers['x-request-id'] === `a b${n}"`) findings.push('A request id is kept whatever is in it');
    const json = { name: `${n}${decodeURIComponent(cut)}${FORGED_LINE}"}` };
    const { body } = await ask(`${url}/v2/organization/asset-groups`, { key, json });
    if (body.code === 'INTERNAL_SERVER_ERROR') findings.push('A name with a line break is an error of ours');
  });
  for (const header of ['X-Request-Id: a\rb: 1', 'X-Request-Id: a\0b', 'X-Forwarded-For: 1.1.1.1\x0bX-Injected: 1']) {
    const { answer } = await sendRaw(url, `GET /health/live HTTP/1.1\r\nHost: a\r\n${header}\r\n\r\n`, 500);
    if (!answer.startsWith('HTTP/1.1 400 ')) findings.push(`${JSON.stringify(header)} is taken`);
    if (/^x-injected/im.test(answer)) findings.push('A header can be put into an answer');
  }
  const { answer } = await sendRaw(
    url,
    `GET /v2/nowhere HTTP/1.1\r\nHost: ${FORGED_HOST}\r\nX-Forwarded-Host: ${FORGED_HOST}\r\nConnection: close\r\n\r\n`,
  );
  if (answer.includes(FORGED_HOST)) findings.push('An answer repeats the Host that was sent');
  await sleep(200);
  const lines = target.output().slice(from).split('\n');
  const isForged = (text: string): boolean => text.trimStart().startsWith(FORGED_LINE);
  const forged = lines.filter(isForged).length;
  if (forged > 0) findings.push(`${forged} lines of the log are somebody else's`);
  const logged = lines.filter((text) => text.includes(FORGED_ADDRESS)).length;
  if (logged > 0) findings.push(`${logged} lines of the log believe X-Forwarded-For`);
  return {
    dose: `${rounds * BREAKS.length * 2} requests with ${BREAKS.length} kinds of line break in path, query, ids and names`,
    seen: `0 of ${lines.length} log lines and 0 headers forged, no forged address or host believed`,
    findings: [...new Set(findings)],
  };
};

export const logInjection: Scenario<Dose> = {
  name: 'S6',
  what: 'line breaks and control characters in ids, names and paths; forged X-Forwarded-For and Host',
  asvs: { '4.1.3': 'Generic Web Service Security', '16.4.1': 'Log Protection', '15.3.4': 'Defensive Coding' },
  full: { rounds: 200 },
  run: async (_, dose, site) => attack(await site.service(), dose),
  guard: 'a log line is one JSON object, and a header from outside is believed of named proxies only',
  without: async (scene, dose) => attack(await openNaive(scene), dose),
};
