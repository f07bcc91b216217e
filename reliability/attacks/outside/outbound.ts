import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { answers, ListServer } from '../../../test/support/list-server.js';
import type { Outcome, Scenario } from '../../scenario.js';
import { sendRequest } from '../../rig/http-request.js';
import { builtUrl } from '../../rig/processes.js';
import type { RunContext } from '../../rig/run-context.js';
import { LOOPBACK_HOSTS, PRIVATE_HOSTS } from '../../../test/support/cases/private-addresses.js';
import { cloudEvent, sentStatus } from '../../../test/support/upstream.js';
import { startNaiveService, startAttackTarget, TENANTS } from '../../rig/shared-services.js';
import type { Target } from '../../rig/target.js';

interface Scale {
  readonly rounds: number;
}

const HOSTS = [
  ...LOOPBACK_HOSTS,
  'localtest.me',
  '127.0.0.1.nip.io',
  'good.example@127.0.0.1',
  '127.0.0.1%00.good.example',
  '169.254.169.254',
  'metadata.google.internal',
  'evil[.]example',
];
const FORMS = [
  (host: string, port: number): string => `http://${host}:${port}/latest/meta-data`,
  (host: string, port: number): string => `https://${host}:${port}/?url=http://127.0.0.1:${port}`,
  (host: string, port: number): string => `${host}:${port}`,
  (host: string, port: number): string => `//${host}:${port}/x`,
  (host: string, port: number): string => `ftp://${host}:${port}/`,
  (host: string, port: number): string => `gopher://${host}:${port}/_x`,
  (host: string, port: number): string => `http:\\\\${host}:${port}\\x`,
  (host: string, port: number): string => `ws://user:pass@${host}:${port}/`,
  (host: string, port: number): string => `https://t.me/share/url?url=http://${host}:${port}`,
  (host: string, port: number): string => `ipfs://${host}:${port}`,
];
/** Starts a server that must not get any connection. */
const canary = async (context: RunContext): Promise<{ port: number; visits: () => number }> => {
  let visits = 0;
  const server = createServer((socket) => {
    visits += 1;
    socket.destroy();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.onEnd(async () => server.close());
  return { port: (server.address() as AddressInfo).port, visits: () => visits };
};

const connected = (target: Target): string[] =>
  [...target.output().matchAll(/CONNECTS (\S+)/g)].map(([, address]) => address!);

/** Checks every address, singly and in bulk, and sends events about it. */
const submit = async (target: Target, port: number, { rounds }: Scale): Promise<number> => {
  const contents = HOSTS.flatMap((host) => FORMS.map((form) => form(host, port)));
  const key = target.keys[TENANTS[0]!];
  for (let round = 0; round < rounds; round += 1) {
    const events = contents.map((content, n) => ({
      ...cloudEvent(sentStatus(`o-${n}`, { asset: { type: 'URL', content } }, `outbound-${round}-${n}`)),
      source: encodeURI(content),
      dataschema: content,
    }));
    await sendRequest(`${target.url}/v2/events`, { key: target.upstreamKey, events });
    await sendRequest(`${target.url}/v2/asset/check/bulk`, { key, json: { contents } });
    for (const content of contents) await sendRequest(`${target.url}/v2/asset/check`, { key, json: { content } });
  }
  return contents.length;
};

const judge = (target: Target, visits: number, allowed: readonly number[]): string[] => {
  const unexpected = connected(target).filter((address) => !allowed.some((port) => address.endsWith(`:${port}`)));
  return [
    ...(visits > 0 ? [`The service connected ${visits} times to a server that only a caller had named`] : []),
    ...(unexpected.length > 0 ? [`${unexpected.length} unexpected connections, the first to ${unexpected[0]}`] : []),
  ];
};

const preload = builtUrl('reliability/rig/preload/connections');

const attack = async (context: RunContext, scale: Scale): Promise<Outcome> => {
  const { port, visits } = await canary(context);
  const lists = new ListServer();
  const listUrl = await lists.start();
  context.onEnd(() => lists.stop());
  lists.behave = (request, response) => {
    const host = PRIVATE_HOSTS[Number(/(\d+)$/.exec(request.url!)![1])]!;
    answers(302, { location: `http://${host}:${port}/list.txt` })(request, response);
  };
  const file = join(await context.folder(), 'sources.json');
  const sources = PRIVATE_HOSTS.map((_, n) => ({
    id: `list-${n}`,
    kind: 'list',
    format: 'plain',
    url: `${listUrl}/${n}`,
  }));
  await writeFile(file, JSON.stringify({ sources: [{ id: 'own', kind: 'own' }, ...sources] }));
  const target = await startAttackTarget(context, { env: { SOURCES_FILE: file }, preload });
  const submitted = await submit(target, port, scale);
  await sleep(500);
  const allowed = [Number(new URL(target.env['DATABASE_URL']!).port || 5_432), Number(new URL(listUrl).port)];
  const findings = judge(target, visits(), allowed);
  const asked = new Set(lists.requests.map(({ path }) => path)).size;
  if (asked < PRIVATE_HOSTS.length) findings.push(`Only ${asked} of ${PRIVATE_HOSTS.length} lists were fetched`);
  if (connected(target).length === 0)
    findings.push('The legitimate connections were not observed, so the check would find nothing');
  return {
    workload: `${submitted} addresses checked and reported ${scale.rounds} times, ${PRIVATE_HOSTS.length} lists that redirect`,
    observed: `no connections except ${connected(target).length} to the database and the lists`,
    findings,
  };
};

export const outbound: Scenario<Scale> = {
  name: 'S9',
  what: 'SSRF by checked content, by events and by redirects of lists',
  asvs: {
    '1.3.6': 'Sanitization',
    '13.2.5': 'Backend Communication Configuration',
    '15.3.2': 'Defensive Coding',
  },
  full: { rounds: 10 },
  run: (context, scale) => attack(context, scale),
  guard: 'the service never connects to content that callers send',
  withoutGuard: async (context, scale) => {
    const { port, visits } = await canary(context);
    const target = await startNaiveService(context);
    await submit(target, port, scale);
    await sleep(300);
    return { workload: `${scale.rounds} times`, observed: '-', findings: judge(target, visits(), []) };
  },
};
