import { requireEqual } from './equal.js';
import { FIRST_DAY, ORGANIZATIONS, zipfBounds } from './facts.js';
import { type Goal, measure, rates } from './goal.js';
import { requestJson, type Request, startLoad, loadSlice, rawRequest } from './load.js';
import type { LoadResult } from './load-generator.js';
import { filledDatabase } from './metrics-work.js';
import { issueKeys, startApi, startPeer } from './services.js';
import { quartilesOf } from './statistics.js';
import { MS_PER_DAY } from '../src/events/instant.js';
import { Random } from '../test/support/random.js';

const REQUESTS = 400;
const CONNECTIONS = 16;

interface MetricsQuery {
  /** The index of the organization; 0 is the largest. */
  readonly organization: number;
  readonly path: string;
}

/**
 * Returns random requests: of 100 requests, 40 are for 7 days, 30 for 30 days, 25 for a year and 5 for all time.
 * Organizations follow a Zipf distribution.
 */
const randomQueries = (random: Random): MetricsQuery[] => {
  const bounds = zipfBounds(ORGANIZATIONS);
  return Array.from({ length: REQUESTS }, () => {
    const drawn = random.next();
    const at = bounds.findIndex((bound) => drawn < bound);
    const organization = at === -1 ? ORGANIZATIONS - 1 : at;
    const kind = random.int(100);
    const days = kind < 40 ? 7 : kind < 70 ? 30 : 365;
    if (kind >= 95) return { organization, path: '/v2/organization/metrics' };
    const end = (FIRST_DAY + 400) * MS_PER_DAY + random.int(590 * MS_PER_DAY);
    const text = (instant: number): string => new Date(instant).toISOString();
    const range = `startDate=${text(end - days * MS_PER_DAY)}&endDate=${text(end)}`;
    return { organization, path: `/v2/organization/metrics?${range}` };
  });
};

/** Compares the metrics over HTTP with `node:http` and a GROUP BY. */
export const metricsOverHttp: Goal = {
  name: 'G3c',
  run: async (bench) => {
    const database = await filledDatabase(bench, bench.sizes.facts);
    const { url: service } = await startApi(bench, database);
    const peer = await startPeer(bench, database);
    const names = Array.from({ length: ORGANIZATIONS }, (_, index) => `org-${index + 1}`);
    const keys = await issueKeys(database, ['read'], names);
    const queries = randomQueries(new Random(3));
    const atService = ({ path }: MetricsQuery): Request => ({ method: 'GET', path });
    const atPlain = ({ organization, path }: MetricsQuery): Request => ({
      method: 'GET',
      path: `${path}${path.includes('?') ? '&' : '?'}organization=${names[organization]}`,
    });
    for (const one of queries.slice(0, 50)) {
      const key = keys[one.organization]!;
      requireEqual(
        one.path,
        await requestJson(peer, key, atPlain(one)),
        await requestJson(service, key, atService(one)),
      );
    }
    const load = await startLoad(bench);
    const latencies: { base: LoadResult[]; target: LoadResult[] } = { base: [], target: [] };
    const slice = (url: string, requests: readonly Request[], into: LoadResult[]) =>
      loadSlice(
        load,
        url,
        requests.map((request, index) => rawRequest(url, keys[queries[index]!.organization]!, request)),
        CONNECTIONS,
        (answers) => into.push(answers),
      );
    const paired = await measure(
      bench,
      'G3c',
      {
        base: slice(peer, queries.map(atPlain), latencies.base),
        target: slice(service, queries.map(atService), latencies.target),
      },
      bench.sizes.quick ? bench.sizes.schedule : { rounds: 6, ms: 3_000 },
    );
    // The first slice of each is the warm-up. Each target slice is compared with the base slices before and after it.
    const p99 = latencies.target
      .slice(1)
      .map((target, round) => target.p99 / ((latencies.base[round + 1]!.p99 + latencies.base[round + 2]!.p99) / 2));
    const last = {
      base: quartilesOf(latencies.base.map((a) => a.p99)),
      target: quartilesOf(latencies.target.map((a) => a.p99)),
    };
    return [
      {
        what: 'metrics over HTTP, mixed organizations and ranges, requests per second',
        against: 'bare node:http + GROUP BY',
        measured: paired.ratio,
        unit: '×',
        must: 9,
        aim: 15,
        note: rates(paired, 'per second'),
      },
      {
        what: 'metrics over HTTP, p99',
        against: 'bare node:http + GROUP BY',
        measured: quartilesOf(p99),
        unit: '×',
        must: 1 / 15,
        aim: 1 / 30,
        more: false,
        note: `${last.target.median.toFixed(1)} ms against ${last.base.median.toFixed(1)} ms`,
      },
    ];
  },
};
