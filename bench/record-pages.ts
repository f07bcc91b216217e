import { requireEqual } from './equal.js';
import { LARGEST } from './facts.js';
import { amount, type Goal, type Measured } from './goal.js';
import { createdAt, listedRecords, PAGE } from './listed-records.js';
import { askOnce, startLoad, volleys, wire } from './load.js';
import { issueKeys, startApi } from './services.js';
import { quartilesOf } from './statistics.js';

interface Page {
  readonly items: readonly { readonly createdAt: string }[];
  readonly nextCursor?: string;
}

/** Measures pages at different places of a list over HTTP. */
export const recordPages: Goal = {
  name: 'G17',
  run: async (bench) => {
    const { database, records } = await listedRecords(bench);
    const { url } = await startApi(bench, database);
    const [key] = await issueKeys(database, ['read'], [LARGEST]);
    const ask = async (path: string): Promise<Page> => (await askOnce(url, key!, { method: 'GET', path })) as Page;
    const load = await startLoad(bench);
    /** Returns the path of the second page of a list that begins at the n-th record. */
    const after = async (n: number, filter: string): Promise<string> => {
      const list = `/v2/organization/threats?limit=${PAGE}&endDate=${new Date(createdAt(n, records)).toISOString()}${filter}`;
      const { nextCursor } = await ask(list);
      return `${list}&cursor=${nextCursor}`;
    };
    const middle = Math.floor(records / 2);
    const filter = '&status=BLOCKED,APPROVED&assetType=URL,TWITTER';
    const places = [
      ['first', `/v2/organization/threats?limit=${PAGE}`],
      ['middle', await after(middle, '')],
      ['last', await after(2 * PAGE, '')],
      ['second, of two statuses and two types', await after(records, filter)],
    ] as const;
    const lines: Measured[] = [];
    for (const [place, path] of places) {
      const { items } = await ask(path);
      requireEqual(`items of the ${place} page`, PAGE, items.length);
      const p50: number[] = [];
      const slice = volleys(load, url, [wire(url, key!, { method: 'GET', path })], 1, (answers) =>
        p50.push(answers.p50),
      );
      const { rounds, ms } = bench.sizes.schedule;
      await slice(ms / 2);
      p50.length = 0;
      for (let round = 0; round < rounds; round += 1) await slice(ms);
      bench.say(`G17 ${place}: ${quartilesOf(p50).median.toFixed(1)} ms`);
      lines.push({
        what: `a page of ${amount(PAGE)} of ${amount(records)} records over HTTP, ${place}`,
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
