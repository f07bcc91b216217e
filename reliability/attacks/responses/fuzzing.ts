import type { Outcome, Scenario } from '../../scenario.js';
import { type HttpResponse, sendRequest } from '../../rig/http-request.js';
import { Random } from '../../../test/support/random.js';
import { INJECTIONS } from '../../rig/injections.js';
import { runConcurrently } from '../../rig/run-concurrently.js';
import { sendRaw } from '../../../test/support/raw.js';
import { startNaiveService, TENANTS } from '../../rig/shared-services.js';
import { Statuses } from '../../rig/statuses.js';
import type { Target } from '../../rig/target.js';

interface Scale {
  readonly requests: number;
  /** The share of requests to the routes of TAXII. */
  readonly taxii: number;
  /** The number of requests with corrupted bytes. */
  readonly broken: number;
  /** The share of requests that may get a 503; on a busy machine it may be large. */
  readonly unavailable: number;
}

const NAMES = [
  'name',
  'content',
  'contents',
  'specversion',
  'id',
  'source',
  'type',
  'time',
  'data',
  'organization',
  'threatId',
  'asset',
  'status',
  'createdAt',
  'updatedAt',
  'brandReviews',
  'changeId',
  '__proto__',
  'constructor',
  'toString',
  'data_base64',
  'datacontenttype',
];

const WORDS = [
  'acme',
  '2026-03-01',
  '2026-03-01T00:00:00Z',
  'BLOCKED',
  'URL',
  '1.0',
  'ThreatStatusChanged',
  'x.example',
];

const value = (random: Random, depth = 0): unknown => {
  switch (random.int(depth > 3 ? 5 : 8)) {
    case 0:
      return random.pick(INJECTIONS);
    case 1:
      return random.pick([0, -1, 1.5, 2 ** 53, -(2 ** 63), 1e308]);
    case 2:
      return random.pick([null, true, false, '', ' ']);
    case 3:
      return random.pick(WORDS);
    case 4:
      return String.fromCharCode(...Array.from({ length: random.int(12) }, () => random.int(0x10000)));
    case 5:
      return Array.from({ length: random.int(4) }, () => value(random, depth + 1));
    default:
      return Object.fromEntries(
        Array.from({ length: random.int(6) }, () => [random.pick(NAMES), value(random, depth + 1)]),
      );
  }
};

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly type?: string;
  readonly body?: string;
}

const request = (random: Random, key: string): Asked => {
  const text = encodeURIComponent(random.pick(INJECTIONS).toWellFormed());
  const path = random.pick([
    '/v2/organization/metrics',
    `/v2/organization/metrics?startDate=${text}`,
    `/v2/organization/metrics?brandSlug=${text}`,
    '/v2/organization',
    '/v2/organization/brands',
    '/v2/asset/check',
    '/v2/asset/check/bulk',
    '/v2/asset/history',
    '/v2/organization/asset-groups',
    `/v2/organization/asset-groups/${text}`,
    `/v2/organization/asset-groups/${random.int(5)}`,
    `/v2/organization/asset-groups/${random.int(5)}/assets`,
    `/v2/organization/asset-groups/${random.int(5)}/assets/remove`,
    `/v2/organization/asset-groups/${random.int(5)}/assets?limit=${text}&cursor=${text}`,
    '/v2/events',
    `/v2/${text}`,
    '/health/ready',
    '/openapi.json',
    `/schemas/${text}`,
  ]);
  const method = random.pick(['GET', 'POST', 'POST', 'POST', 'PATCH', 'DELETE', 'PUT', 'OPTIONS', 'HEAD']);
  const headers: Record<string, string> = random.chance(0.95) ? { 'x-api-key': key } : {};
  if (random.chance(0.1)) headers['idempotency-key'] = random.pick(['a', 'b c', 'x'.repeat(300)]);
  if (random.chance(0.1))
    headers[`ce-${random.pick(NAMES).replaceAll('_', '')}`] = random.pick(['1.0', 'x', '%00', '%zz', '"']);
  if (method === 'GET' || method === 'HEAD') return { method, path, headers };
  const type = random.pick([
    'application/json',
    'application/json',
    'application/json; charset=utf-8',
    'application/cloudevents+json',
    'application/cloudevents-batch+json',
    'text/plain',
    'application/x-www-form-urlencoded',
  ]);
  const whole =
    JSON.stringify(path.endsWith('/events') && random.chance(0.5) ? [value(random), value(random)] : value(random)) ??
    '';
  return {
    method,
    path,
    headers,
    type,
    body: random.chance(0.15) ? whole.slice(0, random.int(whole.length + 1)) : whole,
  };
};

const COLLECTION = '/taxii2/api/collections/threats';
const ANY_ID = 'indicator--00000000-0000-4000-8000-000000000000';
const TAXII_PATHS = [
  '/taxii2',
  '/taxii2/api',
  '/taxii2/api/collections',
  '/taxii2/api/collections/TEXT',
  '/taxii2/TEXT',
  COLLECTION,
  `${COLLECTION}/objects`,
  `${COLLECTION}/objects`,
  `${COLLECTION}/manifest`,
  '/taxii2/api/collections/verdicts/objects',
  '/taxii2/api/collections/TEXT/objects',
  `${COLLECTION}/objects/${ANY_ID}`,
  `${COLLECTION}/objects/TEXT`,
  `${COLLECTION}/objects/TEXT/versions`,
];
const TAXII_VALUES: Readonly<Record<string, readonly string[]>> = {
  limit: ['1', '1000', '1001', '0', '-1', '9'.repeat(30)],
  added_after: ['2026-03-01T00:00:00Z', '2026-03-01T00:00:00.123456+14:00', '9999-12-31T23:59:59.999Z', '0000-01-01'],
  next: ['AAAAAAAA.AAAA'],
  'match[id]': [ANY_ID, `${ANY_ID},x`, `${ANY_ID},`.repeat(100)],
  'match[type]': ['indicator', 'malware'],
  'match[version]': ['first', 'last', 'all', '2026-03-01T00:00:00Z', '292278994-08-17T07:12:55Z'],
  'match[spec_version]': ['2.1', '2.0'],
  match: [],
  'match[__proto__]': [],
};
const TAXII_TYPES = ['application/taxii+json;version=2.1', '*/*', 'application/taxii+json; version="2.0"', ';q=,', '"'];

/** A request to TAXII. */
const taxiiRequest = (random: Random, key: string): Asked => {
  const text = (): string => encodeURIComponent(random.pick(INJECTIONS).toWellFormed());
  const parameters = Array.from({ length: random.int(4) }, () => {
    const [name, values] = random.pick(Object.entries(TAXII_VALUES));
    const isKnown = values.length > 0 && random.chance(0.6);
    return `${random.chance(0.5) ? encodeURIComponent(name) : name}=${isKnown ? encodeURIComponent(random.pick(values)) : text()}`;
  });
  const path = `${random.pick(TAXII_PATHS).replace('TEXT', text)}${random.pick(['', '/', '/', '//'])}`;
  const basic = `Basic ${Buffer.from(random.pick([`${key}:x`, `:${key}`, key, random.pick(INJECTIONS)])).toString('base64')}`;
  const authorization = random.pick([`Bearer ${key}`, `bearer ${key}`, basic, basic, 'Basic %', 'Bearer']);
  return {
    method: random.pick(['GET', 'GET', 'GET', 'GET', 'GET', 'HEAD', 'POST', 'DELETE', 'PUT', 'OPTIONS']),
    path: `${path}${parameters.length > 0 ? '?' : ''}${parameters.join('&')}`,
    headers: {
      ...(random.chance(0.5) ? { 'x-api-key': key } : { authorization }),
      ...(random.chance(0.5) && { accept: random.pick(TAXII_TYPES) }),
      ...(random.chance(0.1) && { 'if-none-match': random.pick(['*', '"', 'W/"x"']) }),
      ...(random.chance(0.1) && { range: random.pick(['items 0-9', 'bytes=0-1']) }),
    },
  };
};

const INSIDES = /\bat .*\.(js|ts):|node_modules|select |insert |syntax error/i;

/** Returns what is wrong with a response; undefined if the response is correct. */
const wrongWith = (
  { method, path }: Asked,
  { status, headers, body }: Omit<HttpResponse, 'ms'>,
): string | undefined => {
  if (status >= 500 && status !== 503) return `was answered ${status}`;
  if (status === 503 && !/^[1-9]\d*$/.test(String(headers['retry-after'])))
    return 'was answered 503 without Retry-After';
  if (status < 400 || method === 'HEAD') return undefined;
  // The parser refuses a URL of about 16 KiB before its path is known, so with the flat body.
  if (/^\/taxii2(?=[/?]|$)/.test(path) && !(status === 414 && 'code' in Object(body))) {
    const { title, description, http_status: text, ...others } = Object(body);
    const isWhole = [title, description].every((each) => typeof each === 'string' && each !== '');
    if (!isWhole || text !== String(status) || Object.keys(others).length > 0)
      return `has an error body that is not the one of TAXII: ${JSON.stringify(body)}`;
    return INSIDES.test(description) ? `reveals internals: ${description}` : undefined;
  }
  // A busy machine may not be ready, and says which part.
  if (status === 503 && path.startsWith('/health/ready') && 'parts' in Object(body)) return undefined;
  const { code, message, issues: _issues, rejected: _rejected, ...more } = Object(body);
  if (!/^[A-Z_]+$/.test(code) || typeof message !== 'string' || message === '' || Object.keys(more).length > 0)
    return `has an error body that is not the flat one: ${JSON.stringify(body)}`;
  return INSIDES.test(JSON.stringify(body)) ? `reveals internals: ${JSON.stringify(body)}` : undefined;
};

const TEMPLATE = Buffer.from(
  'POST /v2/events HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\n{"a"}',
);

const sendBroken = async (url: string, times: number): Promise<void> => {
  const random = new Random(3);
  await runConcurrently(32, times, async () => {
    const bytes = Buffer.from(TEMPLATE);
    for (let change = 0; change < 1 + random.int(6); change += 1) bytes[random.int(bytes.length)] = random.int(256);
    await sendRaw(url, bytes, 300);
  });
};

const throwAt = async (
  target: Target,
  key: string,
  { requests, taxii, broken, unavailable }: Scale,
  reportProgress: (progress: string) => void,
): Promise<Outcome> => {
  const random = new Random(2);
  const statuses = new Statuses();
  const findings: string[] = [];
  await runConcurrently(8, requests, async (n) => {
    const asked = random.chance(taxii) ? taxiiRequest(random, key) : request(random, key);
    const { method, path } = asked;
    const answer = await sendRequest(target.url + path, asked).catch(({ message }: Error) => ({
      status: 599,
      headers: {},
      body: message,
    }));
    const { status } = answer;
    statuses.add(status);
    const fault = wrongWith(asked, answer);
    if (fault !== undefined) findings.push(`${method} ${path} ${asked.body?.slice(0, 200) ?? ''} ${fault}`);
    if (n % 1_000 === 0) reportProgress(`${n} of ${requests} requests`);
  });
  await sendBroken(target.url, broken);
  if (statuses.countOf(503) > requests * unavailable)
    findings.push(`${statuses.countOf(503)} of ${requests} requests got a 503`);
  const live = await sendRequest(`${target.url}/health/live`).catch(() => ({ status: 0 }));
  if (live.status !== 200) findings.push('The service no longer responds');
  for (const status of [200, 400, 401, 404, 405, 415])
    if (statuses.countOf(status) === 0)
      findings.push(`No request got the status ${status}, so the requests are not varied enough`);
  return {
    workload: `${requests} requests, and ${broken} with corrupted bytes`,
    observed: String(statuses),
    findings,
  };
};

export const fuzzing: Scenario<Scale> = {
  name: 'S3',
  what: 'valid and invalid requests of every kind, and bytes that are not HTTP',
  asvs: { '16.5.1': 'Error Handling', '2.2.1': 'Input Validation', '15.3.6': 'Defensive Coding' },
  full: { requests: 200_000, taxii: 0.5, broken: 2_000, unavailable: 0.01 },
  everyChange: { requests: 700, taxii: 0.5, broken: 100, unavailable: 1 },
  run: async (context, scale, sharedServices) => {
    const target = await sharedServices.service();
    const { key } = await target.issue(['read', 'write', 'ingest'], 'fuzzed');
    return throwAt(target, key, scale, context.reportProgress);
  },
  guard: 'all input is validated before it is used',
  controlScale: { requests: 1_000, taxii: 0, broken: 100 },
  withoutGuard: async (context, scale) => throwAt(await startNaiveService(context), TENANTS[0]!, scale, () => {}),
  controlFinding: /was answered 500$/,
};
