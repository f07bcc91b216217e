import type { Range } from '../src/http/parameters.js';
import type { Database } from './database.js';
import { LARGEST_ORGANIZATION, PLAIN_FACTS } from './facts.js';
import { formatAmount, type Bench, type Goal, type Growth, measure, perQuery } from './goal.js';
import { askPlain, askService, filledDatabase, RANGES } from './metrics-work.js';
import { measurePaired, sequentially } from './paired.js';
import { reciprocalsOf } from './statistics.js';

/** Returns the duration of the query, the duration of the GROUP BY, and the ratio of their speeds. */
const timed = async (bench: Bench, database: Database, range: Range): Promise<(string | number)[]> => {
  const { base, target, ratio } = await measurePaired(
    {
      base: sequentially(() => askPlain(database)(range)),
      target: sequentially(() => askService(database)(range)),
    },
    bench.sizes.quick ? bench.sizes.schedule : { rounds: 3, ms: 500 },
  );
  const ms = (rate: number): string => (1000 / rate).toFixed(2);
  return [ms(target.median), ms(base.median), ratio.median.toFixed(1)];
};

const COLUMNS = ['ms', 'GROUP BY, ms', 'ratio'];

const byFacts = async (bench: Bench): Promise<Growth> => {
  const { facts, twenty } = bench.sizes;
  const rows: (string | number)[][] = [];
  for (const size of [facts / 5, facts, ...(twenty ? [facts * 4] : [])])
    for (const [name, range] of Object.entries(RANGES)) {
      rows.push([formatAmount(size), name, ...(await timed(bench, await filledDatabase(bench, size), range))]);
      bench.say(`G3b facts: ${rows.at(-1)!.join(' · ')}`);
    }
  return {
    what: 'Metrics of the largest of 100 organizations by number of facts',
    columns: ['facts', 'range', ...COLUMNS],
    rows,
  };
};

const byOrganizations = async (bench: Bench): Promise<Growth> => {
  const size = bench.sizes.facts / 5;
  const rows: (string | number)[][] = [];
  for (const organizations of bench.sizes.quick ? [1, 100] : [1, 100, 10_000]) {
    const database = await filledDatabase(bench, size, organizations);
    const { rows: counted } = await database.pool.query<{ n: number }>(
      `select count(*) as n from ${PLAIN_FACTS} where organization = $1`,
      [LARGEST_ORGANIZATION],
    );
    rows.push([
      organizations.toLocaleString('en-US'),
      formatAmount(counted[0]!.n),
      ...(await timed(bench, database, RANGES['1 year'])),
    ]);
    bench.say(`G3b organizations: ${rows.at(-1)!.join(' · ')}`);
  }
  return {
    what: `Metrics of the largest organization, 1 year, by number of organizations that share ${formatAmount(size)} facts`,
    columns: ['organizations', 'facts of the largest', ...COLUMNS],
    rows,
  };
};

/** Compares the metrics query of the largest organization on all facts with the query on a fifth of the facts. */
export const metricsQueryGrowth: Goal = {
  name: 'G3b',
  run: async (bench) => {
    const { facts } = bench.sizes;
    const [smallDatabase, largeDatabase] = [await filledDatabase(bench, facts / 5), await filledDatabase(bench, facts)];
    const range = RANGES['all time'];
    const paired = await measure(bench, 'G3b', {
      base: sequentially(() => askService(smallDatabase)(range)),
      target: sequentially(() => askService(largeDatabase)(range)),
    });
    bench.keepGrowth(await byFacts(bench));
    bench.keepGrowth(await byOrganizations(bench));
    return [
      {
        what: 'time of the metrics query of G3a, all time, 1 M → 5 M facts',
        against: 'the same query on 1 M facts',
        measured: reciprocalsOf(paired.ratio),
        unit: '×',
        must: 1.2,
        aim: 1.1,
        more: false,
        note: perQuery(paired),
      },
    ];
  },
};
