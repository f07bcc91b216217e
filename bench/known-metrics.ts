import type { Pool } from 'pg';
import { GetMetrics, GetMetricsHandler } from '../src/metrics/get-metrics.js';
import type { Metrics } from '../src/metrics/metrics.dto.js';
import { MetricsQueries } from '../src/metrics/metrics-queries.js';
import type { Moment } from '../src/metrics/past-sql.js';
import { MS_PER_DAY } from '../src/events/instant.js';
import type { Range } from '../src/http/parameters.js';
import type { Database } from './database.js';
import { requireEqual } from './equal.js';
import { LARGEST_ORGANIZATION } from './facts.js';
import { formatAmount, type Goal, measure, type Measured, perQuery } from './goal.js';
import {
  askService as askMetrics,
  filledDatabase,
  PLAIN_COUNT,
  type PlainCount,
  plainMetrics,
  RANGES,
} from './metrics-work.js';
import { sequentially } from './paired.js';
import { reciprocalsOf } from './statistics.js';

/** One of 50 facts counted at another instant before, for some days. */
const FILL_FORMER = `
  insert into read.former_facts (organization, brand, at, measure, type, record, since, until, span)
  select *, length(to_hex(until - since)) from (
    select organization, brand, at - ${MS_PER_DAY}, measure, type, record, since - 3 * ${MS_PER_DAY} as since, since as until
    from read.facts where hashtext(record) % 50 = 0
  ) former`;

/** Counts the facts that were known at a position one by one. */
const plainCount = async (pool: Pool, { position }: Moment, { from, to }: Range): Promise<Metrics> => {
  const known = `(
    select organization, brand, at, measure, type from read.facts where since <= $5
    union all
    select organization, brand, at, measure, type from read.former_facts where since <= $5 and until > $5
  ) known`;
  const text = PLAIN_COUNT.text.replace('bench.facts', known);
  const { rows } = await pool.query<PlainCount>(text, [LARGEST_ORGANIZATION, '', from, to, position]);
  return plainMetrics(rows[0]!);
};

const askKnown = ({ pool }: Database, known: Moment) => {
  const handler = new GetMetricsHandler(new MetricsQueries(pool));
  return async (range: Range): Promise<Metrics> =>
    (await handler.execute(new GetMetrics({ organization: LARGEST_ORGANIZATION, range, known }))).result;
};

/** Compares the metrics of a range as they were known at its end, and a month earlier, with the present metrics. */
export const knownMetrics: Goal = {
  name: 'G26',
  run: async (bench) => {
    const database = await filledDatabase(bench, bench.sizes.facts);
    await database.pool.query(FILL_FORMER);
    await database.pool.query('vacuum analyze read.former_facts');
    const metrics = askMetrics(database);
    const range = RANGES['1 year'];
    const lines: Measured[] = [];
    for (const [name, days] of [
      ['a day after its end', 1],
      ['a month before its end', -30],
    ] as const) {
      const instant = range.to + days * MS_PER_DAY;
      const known = { position: instant, instant };
      const service = askKnown(database, known);
      requireEqual('known metrics', await plainCount(database.pool, known, range), await service(range));
      const paired = await measure(bench, `G26 ${name}`, {
        base: sequentially(() => metrics(range)),
        target: sequentially(() => service(range)),
      });
      lines.push({
        what: `time of the metrics of the largest organization of ${formatAmount(bench.sizes.facts)} facts, 1 year, as known ${name}`,
        against: 'the present metrics of the same range',
        measured: reciprocalsOf(paired.ratio),
        unit: '×',
        must: 5,
        aim: 2,
        more: false,
        note: perQuery(paired),
      });
    }
    return lines;
  },
};
