import { setTimeout as sleep } from 'node:timers/promises';
import { requireEqual } from './equal.js';
import { type Goal, measure, type Measured, rates } from './goal.js';
import { startInstallation } from './installation.js';
import { loadSlice, rawRequest, type Request, requestJson, startLoad } from './load.js';
import { startPeer } from './services.js';

const ORGANIZATION = 'org-1';
const GROUPS = 100;
const MEMBERS = 100;
const CONNECTIONS = 16;

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
    const { url, database, issueKey } = await startInstallation(bench);
    const key = await issueKey(['read', 'write'], ORGANIZATION);
    const peer = await startPeer(bench, database);
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
