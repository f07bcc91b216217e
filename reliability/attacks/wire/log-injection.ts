import { setTimeout as sleep } from 'node:timers/promises';
import type { Outcome, Scenario } from '../../scenario.js';
import { sendRequest } from '../../rig/http-request.js';
import { runConcurrently } from '../../rig/run-concurrently.js';
import { sendRaw } from '../../../test/support/raw.js';
import { startNaiveService, TENANTS } from '../../rig/shared-services.js';
import type { Target } from '../../rig/target.js';

interface Scale {
  readonly rounds: number;
}

/** An address reserved for documentation. */
const FORGED_ADDRESS = '203.0.113.77';
const FORGED_HOST = 'forged-host.example';
const BREAKS = ['%0d%0a', '%0a', '%0d', '%e2%80%a8', '%c2%85', '%00%0a', '%1b%5b2K%0d'];

/** The beginning of a forged log line. */
const FORGED_LINE = '{"level":"info","message":"FORGED';

const attack = async (target: Target, { rounds }: Scale): Promise<Outcome> => {
  const key = target.keys[TENANTS[3]!]!;
  const { url } = target;
  const from = target.output().length;
  const findings: string[] = [];
  const line = encodeURIComponent(`${FORGED_LINE}"}`);
  await runConcurrently(8, rounds * BREAKS.length, async (n) => {
    const lineBreak = BREAKS[n % BREAKS.length]!;
    const { headers } = await sendRequest(`${url}/v2/${lineBreak}${line}${lineBreak}?startDate=${lineBreak}${line}`, {
      key,
      headers: { 'x-forwarded-for': FORGED_ADDRESS, 'x-real-ip': FORGED_ADDRESS, 'x-request-id': `a b${n}"` },
    });
    if (headers['x-request-id'] === `a b${n}"`) findings.push('An invalid request id was accepted');
    const json = { name: `${n}${decodeURIComponent(lineBreak)}${FORGED_LINE}"}` };
    const { body } = await sendRequest(`${url}/v2/organization/asset-groups`, { key, json });
    if (body.code === 'INTERNAL_SERVER_ERROR') findings.push('A name with a line break caused a 500');
  });
  for (const header of ['X-Request-Id: a\rb: 1', 'X-Request-Id: a\0b', 'X-Forwarded-For: 1.1.1.1\x0bX-Injected: 1']) {
    const { answer } = await sendRaw(url, `GET /health/live HTTP/1.1\r\nHost: a\r\n${header}\r\n\r\n`, 500);
    if (!answer.startsWith('HTTP/1.1 400 ')) findings.push(`${JSON.stringify(header)} was accepted`);
    if (/^x-injected/im.test(answer)) findings.push('A header was injected into a response');
  }
  const { answer } = await sendRaw(
    url,
    `GET /v2/nowhere HTTP/1.1\r\nHost: ${FORGED_HOST}\r\nX-Forwarded-Host: ${FORGED_HOST}\r\nConnection: close\r\n\r\n`,
  );
  if (answer.includes(FORGED_HOST)) findings.push('A response contains the Host header of the request');
  await sleep(200);
  const lines = target.output().slice(from).split('\n');
  const isForged = (text: string): boolean => text.trimStart().startsWith(FORGED_LINE);
  const forged = lines.filter(isForged).length;
  if (forged > 0) findings.push(`${forged} lines of the log are forged`);
  const logged = lines.filter((text) => text.includes(FORGED_ADDRESS)).length;
  if (logged > 0) findings.push(`${logged} lines of the log trust X-Forwarded-For`);
  return {
    workload: `${rounds * BREAKS.length * 2} requests with ${BREAKS.length} kinds of line break in path, query, ids and names`,
    observed: `0 of ${lines.length} log lines and no header forged, no forged address or host trusted`,
    findings: [...new Set(findings)],
  };
};

export const logInjection: Scenario<Scale> = {
  name: 'S6',
  what: 'line breaks and control characters in ids, names and paths; forged X-Forwarded-For and Host',
  asvs: { '4.1.3': 'Generic Web Service Security', '16.4.1': 'Log Protection', '15.3.4': 'Defensive Coding' },
  full: { rounds: 200 },
  run: async (_, scale, sharedServices) => attack(await sharedServices.service(), scale),
  guard: 'each log line is a JSON object, and forwarding headers are trusted only from configured proxies',
  withoutGuard: async (context, scale) => attack(await startNaiveService(context), scale),
};
