import { execFile } from 'node:child_process';
import { chmod } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Bench, Goal, Measured } from './goal.js';
import { loadSlice, rawRequest, type Request, requestJson, startLoad } from './load.js';
import { OWN_ONLY, sourcesFile, temporaryFolder } from './services.js';
import { CLI, startAll, stopAll } from './start-up.js';
import { quartilesOf } from './statistics.js';

const ORGANIZATION = 'org-1';
const GROUPS = 100;
const MEMBERS = 100;
const WEBHOOKS = 10;
const REJECTED = 100;
const CONNECTIONS = 16;

/** The limits are too high to be reached. */
const SETTINGS = {
  ACCESS_LOG: 'off',
  RATE_LIMIT_PER_MINUTE: '999999999',
  UNAUTHENTICATED_RATE_LIMIT_PER_MINUTE: '0',
  MAX_CONNECTIONS_PER_ADDRESS: '0',
};

const groupsPath = '/v2/organization/asset-groups';
const membersPath = `${groupsPath}/1/assets`;
const webhooksPath = '/v2/organization/webhooks';
const post = (path: string, body: unknown, type?: string): Request => ({ method: 'POST', path, body, type });
const times = <Item>(n: number, make: (index: number) => Item): Item[] => Array.from({ length: n }, (_, n) => make(n));

/** The measured routes, with the requests that create what the routes return. */
const ROUTES: readonly { what: string; path: string; creates: readonly Request[] }[] = [
  {
    what: `the list of ${GROUPS} groups`,
    path: groupsPath,
    creates: times(GROUPS, (n) => post(groupsPath, { name: `Landing pages ${n}` })),
  },
  {
    what: `the ${MEMBERS} members of a group`,
    path: membersPath,
    creates: [post(membersPath, { contents: times(MEMBERS, (n) => `site-${n}.example`) })],
  },
  {
    what: `the list of ${WEBHOOKS} webhook endpoints`,
    path: webhooksPath,
    creates: times(WEBHOOKS, (n) => post(webhooksPath, { url: `https://hooks.example.com/${n}` })),
  },
  {
    what: `${REJECTED} rejected events`,
    path: '/v2/events/rejected',
    creates: [
      post(
        '/v2/events',
        // A batch is only accepted if it contains a valid event: the first one.
        times(REJECTED + 1, (n) => ({
          specversion: '1.0',
          id: `deleted-${n}`,
          source: 'urn:bench',
          type: 'ThreatDeleted',
          time: '2026-01-01T00:00:00Z',
          data: {
            organization: ORGANIZATION,
            threatId: 'threat-1',
            ...(n === 0 && { deletedAt: '2026-01-01T00:00:00Z' }),
          },
        })),
        'application/cloudevents-batch+json',
      ),
    ],
  },
];

/** Starts the service. @returns its URL and a key with every scope of the routes */
const startService = async (bench: Bench): Promise<{ readonly url: string; readonly key: string }> => {
  const sources = await sourcesFile(bench, OWN_ONLY);
  const dataDir = await temporaryFolder(bench);
  // If this process is root, the database server runs as another user, who needs access to the folder.
  if (process.getuid?.() === 0) await chmod(dataDir, 0o711);
  const started = await startAll(dataDir, sources, undefined, SETTINGS);
  bench.onEnd(() => stopAll(started));
  const scopes = ['read', 'write', 'ingest'].flatMap((scope) => ['--scope', scope]);
  const issue = [CLI, 'keys', 'issue', '--organization', ORGANIZATION, ...scopes, '--json'];
  const env = { ...process.env, DATABASE_URL: '', DATA_DIR: dataDir };
  const { stdout } = await promisify(execFile)(process.execPath, issue, { env });
  // An instance polls for new keys four times a second.
  await sleep(1_000);
  return { url: started.url, key: (JSON.parse(stdout) as { key: string }).key };
};

/**
 * Measures reads of little data over HTTP. The service is started and filled only through its command line and its
 * API, so `--against` can measure builds whose own bench lacks this goal. Routes that such a build lacks are skipped.
 */
export const reads: Goal = {
  name: 'G23',
  startsAnyBuild: true,
  run: async (bench) => {
    const { url, key } = await startService(bench);
    const load = await startLoad(bench);
    const lines: Measured[] = [];
    for (const { what, path, creates } of ROUTES) {
      const { status } = await fetch(url + path, { headers: { 'x-api-key': key }, redirect: 'error' });
      if (status === 404 && process.env['BENCH_BUILD'] !== undefined && path !== membersPath) {
        bench.say(`G23: the build has no ${path}`);
        continue;
      }
      for (const request of creates) await requestJson(url, key, request);
      const perSecond: number[] = [];
      const slice = loadSlice(load, url, [rawRequest(url, key, { method: 'GET', path })], CONNECTIONS);
      const { rounds, ms } = bench.sizes.schedule;
      await slice(ms);
      for (let round = 0; round < rounds; round += 1) perSecond.push(await slice(ms));
      const measured = quartilesOf(perSecond);
      bench.say(`G23 ${what}: ${Math.round(measured.median)} requests per second`);
      lines.push({ what: `${what} over HTTP`, against: '-', measured, unit: 'requests/s', must: 1_000 });
    }
    return lines;
  },
};
