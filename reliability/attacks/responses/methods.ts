import type { Outcome, Scenario } from '../../scenario.js';
import { sendRequest } from '../../rig/http-request.js';
import { runConcurrently } from '../../rig/run-concurrently.js';
import { sendRaw } from '../../../test/support/raw.js';
import { startNaiveService, TENANTS } from '../../rig/shared-services.js';
import type { Target } from '../../rig/target.js';

interface Scale {
  readonly rounds: number;
}

const METHODS = ['TRACE', 'TRACK', 'DEBUG', 'CONNECT', 'PROPFIND', 'PURGE', 'PUT', 'OPTIONS', 'LINK', 'QUERY', 'get'];
const PATHS = [
  '/v2/organization/metrics',
  '/v2/organization',
  '/v2/organization/brands',
  '/v2/asset/check',
  '/v2/asset/check/bulk',
  '/v2/asset/history',
  '/v2/organization/asset-groups',
  '/v2/organization/asset-groups/1',
  '/v2/organization/asset-groups/1/assets',
  '/v2/organization/asset-groups/1/assets/remove',
  '/v2/events',
  '/health/live',
  '/health/ready',
  '/openapi.json',
  '/asyncapi.json',
  '/schemas',
  '/schemas/CloudEvent.json',
  '/',
  '/v1/organization/metrics',
  '/v2/organization/metrics/',
  '/v2//organization/metrics',
  '/V2/Organization/Metrics',
  '/.git/config',
  '/.env',
  '/package.json',
  '/docs/../package.json',
  '/docs/%2e%2e/%2e%2e/package.json',
  '/docs/..%5c..%5cpackage.json',
  '/admin',
  '/debug/pprof',
  '/server-status',
  '/actuator/env',
];
/** Routes that need no key. */
const OPEN = new Set([
  '/health/live',
  '/health/ready',
  '/openapi.json',
  '/asyncapi.json',
  '/schemas',
  '/schemas/CloudEvent.json',
]);
const BANNERS = ['server', 'x-powered-by', 'via', 'x-aspnet-version', 'x-runtime'];

const attack = async (target: Target, { rounds }: Scale): Promise<Outcome> => {
  const key = target.keys[TENANTS[0]!]!;
  const findings = new Set<string>();
  const pairs = PATHS.flatMap((path) =>
    [...METHODS, ...(OPEN.has(path) || path.startsWith('/v2/') ? [] : ['GET'])]
      // The CloudEvents webhook handshake.
      .filter((method) => method !== 'OPTIONS' || path !== '/v2/events')
      .map((method) => [method, path]),
  );
  await runConcurrently(8, pairs.length * rounds, async (n) => {
    const [method, path] = pairs[n % pairs.length]!;
    const { answer } = await sendRaw(
      target.url,
      `${method} ${path} HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${key}\r\nX-Echo: echoed-by-trace\r\nConnection: close\r\n\r\n`,
    );
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);
    if (![400, 404, 405].includes(status)) findings.add(`${method} ${path} got the status ${status}`);
    else if (!/\r\n\r\n\{"code":"[A-Z_]+","message":"/.test(answer))
      findings.add(`${method} ${path} has no JSON error`);
    if (status === 405 && !/^allow: /im.test(answer)) findings.add(`${method} ${path} is 405 without Allow`);
    if (answer.includes('echoed-by-trace')) findings.add(`${method} ${path} echoes the request`);
  });
  for (const path of [...OPEN, '/v2/organization/asset-groups', '/v2/nowhere', '/docs']) {
    const { headers } = await sendRequest(target.url + path, { key });
    for (const banner of BANNERS)
      if (headers[banner]) findings.add(`${path} has the header ${banner}: ${String(headers[banner])}`);
  }
  return {
    workload: `${pairs.length} pairs of method and path, ${rounds} times`,
    observed: 'each got 400, 404 or 405 with a JSON error; nothing was echoed, and no banner was sent',
    findings: [...findings],
  };
};

export const methods: Scenario<Scale> = {
  name: 'S8',
  what: 'methods and routes that do not exist, and information about the server in responses',
  asvs: {
    '4.1.4': 'Generic Web Service Security',
    '13.4.4': 'Unintended Information Leakage',
    '13.4.6': 'Unintended Information Leakage',
    '13.4.7': 'Unintended Information Leakage',
  },
  full: { rounds: 10 },
  run: async (_, scale, sharedServices) => attack(await sharedServices.service(), scale),
  guard: 'a route table with the methods of each path',
  withoutGuard: async (context, scale) => attack(await startNaiveService(context), scale),
};
