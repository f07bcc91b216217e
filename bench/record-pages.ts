import { requireEqual } from './equal.js';
import { LARGEST_ORGANIZATION } from './facts.js';
import { formatAmount, type Goal, type Measured } from './goal.js';
import { createdAt, listedRecords, PAGE } from './listed-records.js';
import { requestJson, startLoad, loadSlice, rawRequest } from './load.js';
import { issueKeys, startApi } from './services.js';
import { quartilesOf } from './statistics.js';

interface Page {
  readonly items: readonly { readonly createdAt: string }[];
  readonly nextCursor?: string;
}

/** Measures the response time of pages at different positions of a list over HTTP. */
export const recordPages: Goal = {
  name: 'G17',
  run: async (bench) => {
    const { database, records } = await listedRecords(bench);
    const { url } = await startApi(bench, database);
    const [key] = await issueKeys(database, ['read'], [LARGEST_ORGANIZATION]);
    const ask = async (path: string): Promise<Page> => (await requestJson(url, key!, { method: 'GET', path })) as Page;
    const load = await startLoad(bench);
    /** Returns the path of the second page of a list that begins at the n-th record. */
    const secondPagePath = async (n: number, filter: string): Promise<string> => {
      const list = `/v2/organization/threats?limit=${PAGE}&endDate=${new Date(createdAt(n, records)).toISOString()}${filter}`;
      const { nextCursor } = await ask(list);
      return `${list}&cursor=${nextCursor}`;
    };
    const middle = Math.floor(records / 2);
    const filter = '&status=BLOCKED,APPROVED&assetType=URL,TWITTER';
    const places = [
      ['first', `/v2/organization/threats?limit=${PAGE}`],
      ['middle', await secondPagePath(middle, '')],
      ['last', await secondPagePath(2 * PAGE, '')],
      ['second, of two statuses and two types', await secondPagePath(records, filter)],
    ] as const;
    const lines: Measured[] = [];
    for (const [place, path] of places) {
      const { items } = await ask(path);
      requireEqual(`items of the ${place} page`, PAGE, items.length);
      const p50: number[] = [];
      const slice = loadSlice(load, url, [rawRequest(url, key!, { method: 'GET', path })], 1, (answers) =>
        p50.push(answers.p50),
      );
      const { rounds, ms } = bench.sizes.schedule;
      await slice(ms / 2);
      p50.length = 0;
      for (let round = 0; round < rounds; round += 1) await slice(ms);
      bench.say(`G17 ${place}: ${quartilesOf(p50).median.toFixed(1)} ms`);
      lines.push({
        what: `a page of ${formatAmount(PAGE)} of ${formatAmount(records)} records over HTTP, ${place}`,
        against: '-',
        measured: quartilesOf(p50),
        unit: 'ms',
        must: 15,
        aim: 8,
        more: false,
      });
    }
    return lines;
  },
};
