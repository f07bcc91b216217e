import { MS_PER_DAY } from '../src/events/instant.js';
import { GetTakedownStatistics, GetTakedownStatisticsHandler } from '../src/metrics/get-takedown-statistics.js';
import { MetricsQueries } from '../src/metrics/metrics-queries.js';
import type { TakedownStatistics } from '../src/metrics/metrics.dto.js';
import { MEASURE } from '../src/events/facts.js';
import { OUTCOME } from '../src/read-models/tables/records.js';
import type { Database } from './database.js';
import { requireEqual } from './equal.js';
import { DAY_COUNT, FIRST_DAY, LARGEST_ORGANIZATION, TYPES, zipfBounds } from './facts.js';
import { formatAmount, type Bench, type Goal, measure } from './goal.js';
import { RANGES } from './metrics-work.js';
import { sequentially } from './paired.js';
import { reciprocalsOf } from './statistics.js';

/** The number of takedowns of other organizations per takedown of the largest organization. */
const OTHERS = 4;

/** Creates takedowns over a thousand days. Half of them were completed, each within a month. */
const fill = async ({ pool }: Database, ownTakedowns: number): Promise<void> => {
  await pool.query('select setseed(0.42)');
  await pool.query(
    `insert into read.takedowns
     select case when n < $1::int then $2 else 'org-' || (2 + n % 99) end, 'takedown-' || n, 2 * updated_at, gen_random_uuid(), '',
       ($3::text[])[1 + width_bucket(chosen, $4::float8[])], outcome, created_at, updated_at
     from (
       select n, random() as chosen, created_at, ($5::smallint[])[1 + floor(random() * 10)::int] as outcome,
         created_at + floor(random() * random() * 30 * ${MS_PER_DAY})::bigint as updated_at
       from (
         select n, $6::bigint + floor(random() * $7::bigint)::bigint as created_at
         from generate_series(0, $1::int * ${1 + OTHERS} - 1) n offset 0
       ) created offset 0
     ) drawn`,
    [
      ownTakedowns,
      LARGEST_ORGANIZATION,
      TYPES,
      zipfBounds(TYPES.length),
      [
        ...Array<number>(5).fill(OUTCOME.completed),
        ...Array<number>(3).fill(OUTCOME.open),
        OUTCOME.canceled,
        OUTCOME.retracted,
      ],
      FIRST_DAY * MS_PER_DAY,
      DAY_COUNT * MS_PER_DAY,
    ],
  );
  await pool.query(`
    insert into read.days
      select organization, '', measure, (created_at / ${MS_PER_DAY})::int, count(*)
      from read.takedowns, unnest(array[${MEASURE.takedownFiled}, ${MEASURE.takedownCompleted}]) measure
      where measure = ${MEASURE.takedownFiled} or outcome = ${OUTCOME.completed} group by 1, 3, 4;
    insert into read.facts
      select organization, '', created_at, measure, '', id
      from read.takedowns, unnest(array[${MEASURE.takedownFiled}, ${MEASURE.takedownCompleted}]) measure
      where measure = ${MEASURE.takedownFiled} or outcome = ${OUTCOME.completed};
    create schema bench;
    create table bench.takedowns as
      select organization, id, brand, type, outcome, created_at, updated_at from read.takedowns;
    alter table bench.takedowns add primary key (organization, id)`);
  for (const table of ['read.takedowns', 'read.days', 'read.facts', 'bench.takedowns'])
    await pool.query(`vacuum analyze ${table}`);
};

/** Computes the same statistics from a table that has only a primary key. */
const PLAIN_STATISTICS = {
  name: 'plain-takedown-statistics',
  text: `
    with took as materialized (
      select type, updated_at - created_at as ms from bench.takedowns
      where organization = $1 and outcome = ${OUTCOME.completed} and updated_at between $2 and $3
    )
    select
      (select json_object_agg(outcome, n) from (
        select outcome, count(*) as n from bench.takedowns
        where organization = $1 and outcome is not null and created_at between $2 and $3 group by outcome
      ) counted) as outcomes,
      (select json_agg(json_build_array(type, n, times)) from (
        select type, count(*) as n, percentile_disc(array[0.5, 0.9, 0.99, 1]) within group (order by ms) as times
        from took group by grouping sets ((type), ())
      ) shares) as times`,
};

interface Plain {
  readonly outcomes: Readonly<Record<string, number>>;
  readonly times: readonly (readonly [type: string | null, n: number, times: readonly number[]])[];
}

type MetricsRange = (typeof RANGES)[keyof typeof RANGES];

const askPlain = async ({ pool }: Database, { from, to }: MetricsRange): Promise<Plain> =>
  (await pool.query<Plain>({ ...PLAIN_STATISTICS, values: [LARGEST_ORGANIZATION, from, to] })).rows[0]!;

const askService = async ({ pool }: Database, range: MetricsRange): Promise<TakedownStatistics> => {
  const handler = new GetTakedownStatisticsHandler(new MetricsQueries(pool));
  return (await handler.execute(new GetTakedownStatistics({ organization: LARGEST_ORGANIZATION, range }))).result;
};

const timesOf = ({ median, p90, p99, longest }: TakedownStatistics['timeToTakedown']['byType'][number]) => [
  median,
  p90,
  p99,
  longest,
];

const asPlain = ({ completed, open, canceled, retracted, timeToTakedown }: TakedownStatistics) => ({
  outcomes: Object.fromEntries(
    [
      [OUTCOME.open, open],
      [OUTCOME.completed, completed],
      [OUTCOME.canceled, canceled],
      [OUTCOME.retracted, retracted],
    ].filter(([, n]) => n! > 0),
  ),
  times: [{ type: null, ...timeToTakedown }, ...timeToTakedown.byType]
    .map((each) => JSON.stringify([each.type, each.count, timesOf({ ...each, type: '' })]))
    .sort(),
});

const filledTakedowns = (bench: Bench, ownTakedowns: number): Promise<Database> =>
  bench.shared(`${ownTakedowns} takedowns`, async () => {
    const database = await bench.database();
    bench.say(`Fills a database with ${formatAmount(ownTakedowns * (1 + OTHERS))} takedowns`);
    await fill(database, ownTakedowns);
    return database;
  });

/**
 * Measures the takedown statistics of an organization with 100,000 takedowns, and compares them with a query without
 * the indexes of the service.
 */
export const takedownStatistics: Goal = {
  name: 'G3f',
  run: async (bench) => {
    const ownTakedowns = bench.sizes.quick ? 1_000 : 100_000;
    const database = await filledTakedowns(bench, ownTakedowns);
    const lines = [];
    for (const name of ['7 days', '1 year', 'all time'] as const) {
      const range = RANGES[name];
      const { outcomes, times } = await askPlain(database, range);
      const expected = { outcomes, times: times.map((each) => JSON.stringify(each)).sort() };
      requireEqual('statistics', expected, asPlain(await askService(database, range)));
      const paired = await measure(bench, `G3f ${name}`, {
        base: sequentially(() => askPlain(database, range)),
        target: sequentially(() => askService(database, range)),
      });
      lines.push({
        what: `statistics of ${formatAmount(ownTakedowns)} takedowns, ${name}`,
        against: '-',
        measured: reciprocalsOf(paired.target, 1_000),
        unit: 'ms',
        must: 20,
        more: false,
        note: `${paired.ratio.median.toFixed(1)} times as fast as without the indexes of the service (${(1000 / paired.base.median).toFixed(1)} ms)`,
      });
    }
    return lines;
  },
};
