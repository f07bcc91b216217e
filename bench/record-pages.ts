import { requireEqual } from './equal.js';
import { LARGEST_ORGANIZATION } from './facts.js';
import { ELEMENT_ID } from './feed-copy.js';
import { formatAmount, type Goal, measure, type Measured, perQuery } from './goal.js';
import { processorTime, processTree, serverOf } from './installation.js';
import { createdAt, listedRecords, PAGE } from './listed-records.js';
import { requestJson, startLoad, loadSlice, rawRequest } from './load.js';
import type { Slice } from './paired.js';
import { issueKeys, startApi } from './services.js';
import { quartilesOf, reciprocalsOf } from './statistics.js';

interface Page {
  readonly items: readonly { readonly createdAt: string }[];
  readonly nextCursor?: string;
}

/** A slice that reads page after page, and starts over after the last page. @returns pages per second of processor time */
const pagesOf =
  (read: (next: string | undefined) => Promise<string | undefined>, spentMs: () => number): Slice =>
  async (ms) => {
    const [from, before] = [performance.now(), spentMs()];
    let next: string | undefined;
    let pages = 0;
    let spent: number;
    do {
      next = await read(next);
      pages += 1;
      spent = spentMs() - before;
    } while (performance.now() - from < ms || spent === 0);
    return (pages * 1000) / spent;
  };

/** Compares the processor time of a page of TAXII, of the API and PostgreSQL, with a page of the feed. */
export const taxiiPages: Goal = {
  name: 'G27',
  run: async (bench) => {
    const { database } = await listedRecords(bench);
    const { url, child } = await startApi(bench, database);
    const [key] = await issueKeys(database, ['read'], [LARGEST_ORGANIZATION]);
    /** Returns the page as text, because parsing it is the work of the client. */
    const ask = async (path: string): Promise<string> => {
      // Uncompressed, because compressing is the same work for both.
      const headers = { 'x-api-key': key!, 'accept-encoding': 'identity' };
      const response = await fetch(url + path, { headers, redirect: 'error' });
      if (!response.ok) throw new Error(`${path} returned ${response.status}: ${await response.text()}`);
      return response.text();
    };
    const feed = async (last: string | undefined): Promise<string> =>
      ask(`/v2/organization/feed${last === undefined ? '' : `?lastEventId=${last}`}`);
    const taxii = async (next: string | undefined): Promise<string> =>
      ask(`/taxii2/api/collections/threats/objects/?limit=${PAGE}${next === undefined ? '' : `&next=${next}`}`);
    requireEqual('elements of a page', PAGE, (JSON.parse(await feed(undefined)) as []).length);
    requireEqual('objects of a page', PAGE, (JSON.parse(await taxii(undefined)) as { objects: [] }).objects.length);
    const postgres = await serverOf(database);
    const spentMs = (): number => processorTime([child.process.pid!, ...processTree(postgres)]);
    const paired = await measure(bench, 'G27', {
      base: pagesOf(async (last) => [...(await feed(last)).matchAll(ELEMENT_ID)].at(-1)?.[1], spentMs),
      target: pagesOf(async (next) => /"next":"([^"]+)"/.exec(await taxii(next))?.[1], spentMs),
    });
    return [
      {
        what: `processor time of a page of ${formatAmount(PAGE)} objects of TAXII`,
        against: `a page of the feed`,
        measured: reciprocalsOf(paired.ratio),
        unit: '×',
        must: 1.3,
        more: false,
        note: perQuery(paired),
      },
    ];
  },
};

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
