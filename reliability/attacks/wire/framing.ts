import type { Outcome, Scenario } from '../../scenario.js';
import { runConcurrently } from '../../rig/run-concurrently.js';
import { sendRaw } from '../../../test/support/raw.js';
import { startNaiveService, TENANTS } from '../../rig/shared-services.js';
import type { Target } from '../../rig/target.js';

interface Scale {
  readonly rounds: number;
}

/** A smuggled request, which a proxy could attribute to another client. */
const SMUGGLED = 'GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n';

/** Requests whose end two parsers could place differently. */
const framings = (key: string): Readonly<Record<string, string>> => {
  const post = (headers: string, body = SMUGGLED): string =>
    `POST /v2/asset/check HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${key}\r\nContent-Type: application/json\r\n${headers}\r\n\r\n${body}`;
  const get = (rest: string): string => `GET /health/live HTTP/1.1\r\n${rest}`;
  return {
    'a length and chunks': post('Content-Length: 5\r\nTransfer-Encoding: chunked', `0\r\n\r\n${SMUGGLED}`),
    'chunks and a length': post('Transfer-Encoding: chunked\r\nContent-Length: 5', `0\r\n\r\n${SMUGGLED}`),
    'two lengths that differ': post('Content-Length: 2\r\nContent-Length: 50', `{}${SMUGGLED}`),
    'a list of lengths': post('Content-Length: 2, 2', `{}${SMUGGLED}`),
    'a signed length': post('Content-Length: +2', `{}${SMUGGLED}`),
    'a hexadecimal length': post('Content-Length: 0x2', `{}${SMUGGLED}`),
    'a negative length': post('Content-Length: -1'),
    'a length with a blank before its colon': post('Content-Length : 2', `{}${SMUGGLED}`),
    'another coding than chunked': post('Transfer-Encoding: xchunked', `0\r\n\r\n${SMUGGLED}`),
    'chunked, then another coding': post('Transfer-Encoding: chunked, identity', `0\r\n\r\n${SMUGGLED}`),
    'another coding before chunked': post('Transfer-Encoding: gzip, chunked', `0\r\n\r\n${SMUGGLED}`),
    'chunked twice': post('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked', `0\r\n\r\n${SMUGGLED}`),
    'chunked in quotes': post('Transfer-Encoding: "chunked"', `0\r\n\r\n${SMUGGLED}`),
    'chunked after a vertical tab': post('Transfer-Encoding:\x0bchunked', `0\r\n\r\n${SMUGGLED}`),
    'a bad chunk size': post('Transfer-Encoding: chunked', `zz\r\n{}\r\n0\r\n\r\n${SMUGGLED}`),
    'a chunk size beyond 64 bits': post(
      'Transfer-Encoding: chunked',
      `${'f'.repeat(17)}\r\n{}\r\n0\r\n\r\n${SMUGGLED}`,
    ),
    'a chunk longer than it says': post('Transfer-Encoding: chunked', `1\r\n{}x\r\n0\r\n\r\n${SMUGGLED}`),
    'a chunk that ends with a bare LF': post('Transfer-Encoding: chunked', `2\n{}\n0\n\n${SMUGGLED}`),
    'lines that end with a bare LF': `GET /health/live HTTP/1.1\nHost: a\n\n${SMUGGLED}`,
    'a bare CR in a header': get(`Host: a\r\nX-A: b\rTransfer-Encoding: chunked\r\n\r\n${SMUGGLED}`),
    'a folded header': get(`Host: a\r\nX-A: b\r\n c: d\r\n\r\n${SMUGGLED}`),
    'a header without a name': get(`Host: a\r\n: b\r\n\r\n${SMUGGLED}`),
    'a NUL in a header': get(`Host: a\r\nX-A: b\0c\r\n\r\n${SMUGGLED}`),
    'another version of HTTP': `GET /health/live HTTP/9.9\r\nHost: a\r\n\r\n${SMUGGLED}`,
    'a blank in the address': `GET /health /live HTTP/1.1\r\nHost: a\r\n\r\n${SMUGGLED}`,
  };
};

/** Requests with ambiguous targets. */
const ADDRESSED: Readonly<Record<string, string>> = {
  'two hosts': 'GET /health/live HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n',
  'no host': 'GET /health/live HTTP/1.1\r\nConnection: close\r\n\r\n',
};

const attack = async (target: Target, { rounds }: Scale): Promise<Outcome> => {
  const key = target.keys[TENANTS[0]!]!;
  const findings = new Set<string>();
  const all = Object.entries({ ...framings(key), ...ADDRESSED });
  await runConcurrently(8, rounds * all.length, async (n) => {
    const [what, bytes] = all[n % all.length]!;
    const { answer, isClosed } = await sendRaw(target.url, bytes, 2_000);
    const statuses = [...answer.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status);
    if (statuses.length !== 1 || statuses[0] !== '400')
      findings.add(`${what} is answered ${statuses.join(', then ') || 'nothing'}`);
    if (!isClosed) findings.add(`${what} leaves the connection open`);
  });
  return {
    workload: `${all.length} framings, ${rounds} times`,
    observed: 'each got exactly one response, 400, and the connection was closed',
    findings: [...findings],
  };
};

export const framing: Scenario<Scale> = {
  name: 'S7',
  what: 'request smuggling by ambiguous framing',
  asvs: { '4.2.1': 'HTTP Message Structure Validation' },
  full: { rounds: 50 },
  run: async (_, scale, sharedServices) => attack(await sharedServices.service(), scale),
  guard: 'a strict HTTP parser that rejects unknown framing headers',
  withoutGuard: async (context, scale) => attack(await startNaiveService(context), scale),
};
