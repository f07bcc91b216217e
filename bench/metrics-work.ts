import { type Database } from './database.js';
import { DAY_COUNT, fillFacts, FIRST_DAY, LARGEST_ORGANIZATION, ORGANIZATIONS, PLAIN_FACTS } from './facts.js';
import { formatAmount, type Bench } from './goal.js';
import { MS_PER_DAY } from '../src/events/instant.js';
import { GetMetrics, GetMetricsHandler } from '../src/metrics/get-metrics.js';
import type { Metrics } from '../src/metrics/metrics.dto.js';
import { MetricsQueries } from '../src/metrics/metrics-queries.js';
import type { Range } from '../src/http/parameters.js';
import { MEASURE } from '../src/events/facts.js';

/** Returns a range of days that ends in the middle of a day, so that its first and last day are partial. */
const lastDays = (days: number): Range => {
  const to = (FIRST_DAY + 0.83 * DAY_COUNT) * MS_PER_DAY + 45_296_789;
  return { from: to - days * MS_PER_DAY, to };
};

export const RANGES = {
  '7 days': lastDays(7),
  '1 year': lastDays(365),
  'all time': { from: -62_135_596_800_000, to: 253_402_300_799_999, open: 'both' },
} as const;

/** Creates a database with this many facts, once per run. */
export const filledDatabase = (bench: Bench, facts: number, organizations = ORGANIZATIONS): Promise<Database> =>
  bench.shared(`${facts} facts of ${organizations}`, async () => {
    const from = performance.now();
    const database = await bench.database();
    bench.say(`Fills a database with ${formatAmount(facts)} facts of ${formatAmount(organizations)} organizations`);
    await fillFacts(database.pool, facts, organizations);
    bench.say(`Filled in ${((performance.now() - from) / 1000).toFixed(1)} s`);
    return database;
  });

/** Runs the query of the service as its controller does. */
export const askService = ({ pool }: Database) => {
  const handler = new GetMetricsHandler(new MetricsQueries(pool));
  return async (range: Range, organization = LARGEST_ORGANIZATION): Promise<Metrics> =>
    (await handler.execute(new GetMetrics({ organization, range }))).result;
};

/** Counts without a rollup: one pass over the covering index; the three results are grouped from it. */
export const PLAIN_COUNT = {
  name: 'plain-count',
  text: `
    with counted as materialized (
      select measure, (at / ${MS_PER_DAY})::int as day, type, count(*) as n from ${PLAIN_FACTS}
      where organization = $1 and brand = $2 and at between $3 and $4 group by 1, 2, 3
    )
    select
      (select json_agg(json_build_array(measure, n)) from (
        select measure, sum(n)::bigint as n from counted where measure <> ${MEASURE.threat} group by 1
      ) totals) as totals,
      (select json_agg(json_build_array(type, n)) from (
        select type, sum(n)::bigint as n from counted where measure = ${MEASURE.threat} group by 1
        order by 2 desc, 1
      ) types) as types,
      (select json_agg(json_build_array(day, n)) from (
        select day, sum(n)::bigint as n from counted where measure = ${MEASURE.threat} group by 1 order by 1
      ) days) as days`,
};

export interface PlainCount {
  readonly totals: [number, number][] | null;
  readonly types: [string, number][] | null;
  readonly days: [number, number][] | null;
}

export const plainMetrics = ({ totals, types, days }: PlainCount): Metrics => {
  const total = new Map(totals);
  const blocked = new Map(types);
  const countOf = (...names: string[]): number => names.reduce((sum, name) => sum + (blocked.get(name) ?? 0), 0);
  const newThreats = countOf(...blocked.keys());
  return {
    metrics: {
      reports: total.get(MEASURE.report) ?? 0,
      newThreats,
      threatsWatchlisted: total.get(MEASURE.threatWatchlisted) ?? 0,
      takedownsFiled: total.get(MEASURE.takedownFiled) ?? 0,
      takedownsCompleted: total.get(MEASURE.takedownCompleted) ?? 0,
      domainThreats: countOf('URL', 'PAGE'),
      twitterThreats: countOf('TWITTER'),
      telegramThreats: countOf('TELEGRAM'),
      otherThreats: newThreats - countOf('URL', 'PAGE', 'TWITTER', 'TELEGRAM'),
    },
    blockedByType: (types ?? []).map(([type, count]) => ({ type, count })),
    blockedByDay: (days ?? []).map(([day, count]) => ({
      date: new Date(day * MS_PER_DAY).toISOString().slice(0, 10),
      count,
    })),
  };
};

export const askPlain =
  ({ pool }: Database) =>
  async ({ from, to }: Range, organization = LARGEST_ORGANIZATION): Promise<Metrics> => {
    const { rows } = await pool.query<PlainCount>({ ...PLAIN_COUNT, values: [organization, '', from, to] });
    return plainMetrics(rows[0]!);
  };
