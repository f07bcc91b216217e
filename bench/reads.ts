import { execFile } from 'node:child_process';
import { chmod } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { superuserOf } from '../test/support/superuser.js';
import { requireEqual } from './equal.js';
import { type Bench, type Goal, measure, type Measured, rates } from './goal.js';
import { loadSlice, rawRequest, type Request, requestJson, startLoad } from './load.js';
import { OWN_ONLY, sourcesFile, startPeer, temporaryFolder } from './services.js';
import { CLI, startAll, stopAll } from './start-up.js';

const ORGANIZATION = 'org-1';
const GROUPS = 100;
const MEMBERS = 100;
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
const post = (path: string, body: unknown, type?: string): Request => ({ method: 'POST', path, body, type });
const times = <Item>(n: number, make: (index: number) => Item): Item[] => Array.from({ length: n }, (_, n) => make(n));

const CREATES: readonly Request[] = [
  ...times(GROUPS, (n) => post(groupsPath, { name: `Landing pages ${n}` })),
  post(membersPath, { contents: times(MEMBERS, (n) => `site-${n}.example`) }),
];

const ROUTES = [
  { what: `the list of ${GROUPS} groups`, path: groupsPath },
  { what: 'one group', path: `${groupsPath}/1` },
  { what: `the ${MEMBERS} members of a group`, path: membersPath },
];

/** Starts the service and the peer on one database. @returns their URLs, and a key with every scope of the routes */
const startServers = async (
  bench: Bench,
): Promise<{ readonly url: string; readonly key: string; readonly peer: string }> => {
  const sources = await sourcesFile(bench, OWN_ONLY);
  const dataDir = await temporaryFolder(bench);
  // If this process is root, the database server runs as another user, who needs access to the folder.
  if (process.getuid?.() === 0) await chmod(dataDir, 0o711);
  const started = await startAll(dataDir, sources, undefined, SETTINGS);
  bench.onEnd(() => stopAll(started));
  const scopes = ['read', 'write'].flatMap((scope) => ['--scope', scope]);
  const issue = [CLI, 'keys', 'issue', '--organization', ORGANIZATION, ...scopes, '--json'];
  const env = { ...process.env, DATABASE_URL: '', DATA_DIR: dataDir };
  const { stdout } = await promisify(execFile)(process.execPath, issue, { env });
  // An instance polls for new keys four times a second.
  await sleep(1_000);
  const peer = await startPeer(bench, { url: await superuserOf(dataDir) });
  return { url: started.url, key: (JSON.parse(stdout) as { key: string }).key, peer };
};

/** Waits until the projector has written what the peer reads. */
const eventuallyEqual = async (
  what: string,
  base: () => Promise<unknown>,
  target: () => Promise<unknown>,
): Promise<void> => {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    if (JSON.stringify(await base()) === JSON.stringify(await target())) return;
    await sleep(50);
  }
  requireEqual(what, await base(), await target());
};

/**
 * Compares reads of groups over HTTP with bare `node:http` that runs one named statement for the same rows. The service
 * is started and filled only through its command line and its API, so that `--against` can measure builds whose own
 * bench lacks this goal.
 */
export const reads: Goal = {
  name: 'G23',
  startsAnyBuild: true,
  run: async (bench) => {
    const { url, key, peer } = await startServers(bench);
    const load = await startLoad(bench);
    for (const request of CREATES) await requestJson(url, key, request);
    const lines: Measured[] = [];
    for (const { what, path } of ROUTES) {
      const [target, base]: Request[] = [
        { method: 'GET', path },
        { method: 'GET', path: `${path}?organization=${ORGANIZATION}` },
      ];
      await eventuallyEqual(
        what,
        () => requestJson(peer, key, base!),
        () => requestJson(url, key, target!),
      );
      const paired = await measure(bench, `G23: ${what}`, {
        base: loadSlice(load, peer, [rawRequest(peer, key, base!)], CONNECTIONS),
        target: loadSlice(load, url, [rawRequest(url, key, target!)], CONNECTIONS),
      });
      lines.push({
        what: `${what} over HTTP`,
        against: 'bare node:http + pg named statement',
        measured: paired.ratio,
        must: 0.6,
        aim: 0.8,
        note: rates(paired, 'requests per second'),
      });
    }
    return lines;
  },
};
