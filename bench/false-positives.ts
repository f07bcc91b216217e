import { MEASURE } from '../src/events/facts.js';
import { formatDay, MS_PER_DAY } from '../src/events/instant.js';
import type { FalsePositives } from '../src/metrics/metrics.dto.js';
import { GetFalsePositives, GetFalsePositivesHandler } from '../src/metrics/get-false-positives.js';
import { MetricsQueries } from '../src/metrics/metrics-queries.js';
import type { Database } from './database.js';
import { requireEqual } from './equal.js';
import { fillCountedThreats, LARGEST_ORGANIZATION, THREATS_OF_100 } from './facts.js';
import { formatAmount, type Goal, measure, type Measured, perQuery } from './goal.js';
import { askService as askMetrics, filledDatabase, RANGES } from './metrics-work.js';
import { sequentially } from './paired.js';
import { reciprocalsOf } from './statistics.js';

type MetricsRange = (typeof RANGES)[keyof typeof RANGES];

const askService = ({ pool }: Database) => {
  const handler = new GetFalsePositivesHandler(new MetricsQueries(pool));
  return async (range: MetricsRange): Promise<FalsePositives> =>
    (await handler.execute(new GetFalsePositives({ organization: LARGEST_ORGANIZATION, range }))).result;
};

/** Counts the threats one by one, grouped by type or by day. */
const plainCounts = async <Key>({ pool }: Database, { from, to }: MetricsRange, key: string) => {
  const { rows } = await pool.query<{ key: Key; counted: number; falsePositives: number }>(
    `select ${key} as key, count(*) as counted, count(*) filter (where not counts) as "falsePositives" from (
       select at, type, true as counts from read.facts
       where organization = $1 and brand = '' and measure = ${MEASURE.threat} and at between $2 and $3
       union all
       select counted_at, type, false from read.changed_threats where organization = $1 and counted_at between $2 and $3
     ) threats group by 1 order by 2 desc, 1`,
    [LARGEST_ORGANIZATION, from, to],
  );
  return rows.map((row) => ({ ...row, rate: row.falsePositives / row.counted }));
};

/** Compares the rate of false positives of one organization with the metrics of the same organization and range. */
export const falsePositives: Goal = {
  name: 'G28',
  run: async (bench) => {
    const threats = bench.sizes.quick ? 5_000 : 2_000_000;
    const database = await filledDatabase(bench, Math.round((threats * 100) / THREATS_OF_100), 1);
    await fillCountedThreats(database.pool);
    const [service, metrics] = [askService(database), askMetrics(database)];
    const lines: Measured[] = [];
    for (const name of ['1 year', 'all time'] as const) {
      const range = RANGES[name];
      const { byType, byDay } = await service(range);
      const types = await plainCounts<string>(database, range, 'type');
      const days = await plainCounts<number>(database, range, `(at / ${MS_PER_DAY})::int`);
      requireEqual(
        'by type',
        types.map(({ key: type, ...counts }) => ({ ...counts, type })),
        byType,
      );
      days.sort((a, b) => a.key - b.key);
      requireEqual(
        'by day',
        days.map(({ key, ...counts }) => ({ ...counts, date: formatDay(key) })),
        byDay,
      );
      const paired = await measure(bench, `G28 ${name}`, {
        base: sequentially(() => metrics(range)),
        target: sequentially(() => service(range)),
      });
      lines.push({
        what: `time of the rate of false positives of ${formatAmount(threats)} counted threats, ${name}`,
        against: 'the metrics of the same range',
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
