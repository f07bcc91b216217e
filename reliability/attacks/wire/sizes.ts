import type { Outcome, Scenario } from '../../scenario.js';
import { MB, watchPeak } from '../../rig/memory-reports.js';
import { readFileSync } from 'node:fs';
import { sendUntilAnswered } from '../../../test/support/raw.js';
import { sendRequest } from '../../rig/http-request.js';
import { runConcurrently } from '../../rig/run-concurrently.js';
import { startNaiveService, TENANTS } from '../../rig/shared-services.js';
import type { Target } from '../../rig/target.js';

interface Scale {
  /** Rounds of concurrent requests. */
  readonly rounds: number;
  readonly atOnce: number;
  /** The maximum memory growth in bytes. */
  readonly mostMore: number;
  /** The timeout of a request. */
  readonly timeoutMs: number;
}

const CHUNK = 64 * 1024;

interface Oversize {
  readonly what: string;
  /** The allowed statuses. */
  readonly statuses: readonly number[];
  readonly head: (key: string) => string;
  /** Repeated until a response arrives or this many bytes have been sent. */
  readonly chunk: Buffer;
  readonly bytes: number;
  readonly tail?: string;
}

const post = (path: string, key: string, type: string, framing: string): string =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${key}\r\nContent-Type: ${type}\r\n${framing}\r\n\r\n`;
const GROUPS = '/v2/organization/asset-groups';
const JSON_TYPE = 'application/json';

const chunked = (text: string): Buffer =>
  Buffer.from(`${CHUNK.toString(16)}\r\n${text.repeat(CHUNK / text.length)}\r\n`);

/** Deep bodies, long headers and long addresses: `test/http`, `test/features/errors.spec.ts`. */
const OVERSIZES: readonly Oversize[] = [
  {
    what: '10 MB declared',
    statuses: [413],
    head: (key) => post(GROUPS, key, JSON_TYPE, `Content-Length: ${10 * MB}`),
    chunk: Buffer.alloc(CHUNK, ' '),
    bytes: 10 * MB,
  },
  {
    what: 'endless chunks',
    statuses: [413],
    head: (key) => post(GROUPS, key, JSON_TYPE, 'Transfer-Encoding: chunked'),
    chunk: chunked(' '),
    bytes: 12 * MB,
  },
  {
    what: 'an array of a million elements',
    statuses: [400, 413],
    head: (key) => post('/v2/asset/check/bulk', key, JSON_TYPE, `Content-Length: ${2_000_000 + 16}`) + '{"contents":[1',
    chunk: Buffer.from(',1'.repeat(CHUNK / 2)),
    bytes: 2_000_000,
    tail: ']}',
  },
];

function* piecesOf({ head, chunk, bytes, tail = '' }: Oversize, key: string): Generator<string | Buffer> {
  yield head(key);
  for (let sent = 0; sent < bytes; sent += chunk.length) yield chunk.subarray(0, Math.min(chunk.length, bytes - sent));
  yield tail;
}

/** Returns the resident memory of a process in bytes. */
const resident = (pid: number): number =>
  process.platform === 'linux'
    ? Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024
    : 0;

const attack = async (target: Target, { rounds, atOnce, mostMore, timeoutMs }: Scale): Promise<Outcome> => {
  const key = target.keys[TENANTS[0]!]!;
  const push = (oversize: Oversize): Promise<number> =>
    sendUntilAnswered(target.url, piecesOf(oversize, key), timeoutMs);
  const findings: string[] = [];
  // Warms up with one request of each kind.
  for (const oversize of OVERSIZES) {
    const status = await push(oversize);
    if (!oversize.statuses.includes(status)) findings.push(`${oversize.what} got the status ${status}`);
  }
  // The heap of a new process grows to its usual size with ordinary requests, too.
  const json = { contents: Array<string>(100).fill('a.example') };
  await runConcurrently(atOnce, atOnce * rounds, () =>
    sendRequest(`${target.url}/v2/asset/check/bulk`, { key, json, timeoutMs }).catch(() => undefined),
  );
  await target.measureResources();
  const before = resident(target.api.pid);
  const peakOf = watchPeak(() => resident(target.api.pid));
  await runConcurrently(atOnce, atOnce * rounds, (n) => push(OVERSIZES[n % OVERSIZES.length]!));
  const growth = Math.max(0, peakOf() - before);
  if (growth > mostMore) findings.push(`${atOnce} concurrent requests took ${Math.round(growth / MB)} MB more`);
  return {
    workload: `${OVERSIZES.length} shapes, ${atOnce} at once, ${rounds} times`,
    observed: `each rejected with the expected status, at most ${Math.round(growth / MB)} MB more`,
    findings,
  };
};

export const sizes: Scenario<Scale> = {
  name: 'S4',
  what: 'bodies that are far too large',
  asvs: { '5.2.1': 'File Upload and Content', '2.2.1': 'Input Validation', '15.3.6': 'Defensive Coding' },
  full: { rounds: 10, atOnce: 100, mostMore: 50 * MB, timeoutMs: 15_000 },
  run: async (_, scale, sharedServices) => attack(await sharedServices.service(), scale),
  guard: 'oversized requests are rejected before they are read',
  controlScale: { rounds: 1, atOnce: 30, timeoutMs: 1_000 },
  withoutGuard: async (context, scale) => attack(await startNaiveService(context), scale),
};
