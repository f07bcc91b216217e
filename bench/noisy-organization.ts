import { COUNT_FACTS } from './facts.js';
import type { Goal } from './goal.js';
import { startLoad, loadSlice, rawRequest } from './load.js';
import type { LoadResult } from './load-generator.js';
import { issueKeys, startApi } from './services.js';
import { quartilesOf } from './statistics.js';
import { MS_PER_DAY } from '../src/events/instant.js';
import { MEASURE } from '../src/events/facts.js';

const NOISY = 'noisy';
const QUIET = 'quiet';
/** The number of days with a count. A response for all of them is about 700 KB long. */
const DAYS = 20_000;
const QUIET_DAYS = 100;
const CONNECTIONS = 20;
const SLICE_MS = 4_000;

/** Measures how the metrics queries of one organization delay those of another organization. */
export const noisyOrganization: Goal = {
  name: 'G22',
  run: async (bench) => {
    const database = await bench.database();
    for (const [organization, days] of [
      [NOISY, DAYS],
      [QUIET, QUIET_DAYS],
    ])
      await database.pool.query(
        `insert into read.facts (organization, brand, at, measure, type, record)
           select $1, '', n * ${MS_PER_DAY}::bigint, ${MEASURE.threat}, 'URL', 'record-' || n
           from generate_series(1, $2::int) n`,
        [organization, days],
      );
    await database.pool.query(COUNT_FACTS);
    await database.pool.query('vacuum analyze');
    const { url } = await startApi(bench, database);
    const [noisyKey, quietKey] = await issueKeys(database, ['read'], [NOISY, QUIET]);
    const request = (key: string): string => rawRequest(url, key, { method: 'GET', path: '/v2/organization/metrics' });
    const noise: LoadResult[] = [];
    const others: LoadResult[] = [];
    const makeNoise = loadSlice(await startLoad(bench), url, [request(noisyKey!)], CONNECTIONS, (a) => noise.push(a));
    const query = loadSlice(await startLoad(bench), url, [request(quietKey!)], 1, (a) => others.push(a));
    const ms = bench.sizes.quick ? bench.sizes.schedule.ms : SLICE_MS;
    await query(ms);
    await Promise.all([makeNoise(ms), query(ms)]);
    const slowdowns: number[] = [];
    const shares: number[] = [];
    for (let round = 0; round < bench.sizes.schedule.rounds; round += 1) {
      await query(ms);
      const quiet = others.at(-1)!;
      await Promise.all([makeNoise(ms), query(ms)]);
      slowdowns.push(others.at(-1)!.p50 / quiet.p50);
      shares.push(others.at(-1)!.p99 / noise.at(-1)!.p50);
      bench.say(
        `G22: others p50 ${others.at(-1)!.p50.toFixed(1)} ms (quiet ${quiet.p50.toFixed(1)}), ` +
          `p99 ${others.at(-1)!.p99.toFixed(1)} ms; noisy p50 ${noise.at(-1)!.p50.toFixed(1)} ms`,
      );
    }
    const what = `one organization requests ${DAYS.toLocaleString('en-US')} days on ${CONNECTIONS} connections`;
    return [
      {
        what: `${what}: p50 of another organization`,
        against: 'its p50 without them',
        measured: quartilesOf(slowdowns),
        unit: '×',
        must: 4,
        aim: 2,
        more: false,
      },
      {
        what: `${what}: p99 of another organization`,
        against: 'their own p50',
        measured: quartilesOf(shares),
        unit: '×',
        must: 0.5,
        more: false,
      },
    ];
  },
};
