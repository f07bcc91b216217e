import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { requireEqual } from './equal.js';
import { CONNECTIONS, ECHO, watchGenerator } from './route-overhead.js';
import { type Goal, measure } from './goal.js';
import { hostsToCheck, phishingHosts } from './lists.js';
import { requestJson, type Request, startLoad, rawRequest } from './load.js';
import { issueKeys, sourcesFile, startApi, temporaryFolder } from './services.js';

const check = (content: string): Request => ({ method: 'POST', path: '/v2/asset/check', body: { content } });

/**
 * Compares the asset check with the route of G1. The check has five sources: the own statuses and four lists from
 * files.
 */
export const assetCheckRoute: Goal = {
  name: 'G6c',
  run: async (bench) => {
    const hosts = phishingHosts(bench.sizes.quick ? 1_000 : 200_000);
    const folder = await temporaryFolder(bench);
    const quarter = hosts.length / 4;
    const lists = [];
    for (let part = 0; part < 4; part += 1) {
      const file = join(folder, `list-${part}.txt`);
      await writeFile(file, hosts.slice(part * quarter, (part + 1) * quarter).join('\n'));
      lists.push({ id: `list-${part}`, kind: 'list', format: 'plain', file });
    }
    const sources = await sourcesFile(bench, { sources: [{ id: 'own', kind: 'own' }, ...lists] });
    const database = await bench.database();
    const { url } = await startApi(bench, database, 'bench/bench-app.js', { SOURCES_FILE: sources });
    const [key] = await issueKeys(database, ['read'], ['org-1']);
    const load = await startLoad(bench);
    const contents = hostsToCheck(hosts, 500).map((host) => `https://${host}/start`);
    const listed = new Set(hosts);
    for (const content of contents.slice(0, 40)) {
      const response = (await requestJson(url, key!, check(content))) as { status: string };
      const labels = new URL(content).hostname.split('.');
      const isListed = labels.some((_, from) => listed.has(labels.slice(from).join('.')));
      requireEqual(content, isListed ? 'BLOCKED' : 'UNKNOWN', response.status);
    }
    const { watched, note } = watchGenerator(bench);
    const echoes = contents.map((content): Request => ({ ...ECHO, body: { content } }));
    const paired = await measure(bench, 'G6c', {
      base: watched(
        load,
        url,
        echoes.map((request) => rawRequest(url, key!, request)),
        CONNECTIONS,
      ),
      target: watched(
        load,
        url,
        contents.map((content) => rawRequest(url, key!, check(content))),
        CONNECTIONS,
      ),
    });
    return [
      {
        what: 'POST /v2/asset/check answered from memory',
        against: "G1's route",
        measured: paired.ratio,
        must: 0.75,
        aim: 0.85,
        note: note(paired),
      },
    ];
  },
};
