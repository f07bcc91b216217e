import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { queryOf } from '../http/requests.js';
import { json, nullable, statement } from '../postgres/statement.js';
import { MEASURE } from '../events/facts.js';
import { COUNTED_RANGE, countValues, MOMENT, MOMENT_COLUMNS, OTHER_MEASURES, OWNED, suffixed } from './count-sql.js';
import { eachOf, METRIC_NAMES, type Totals } from './metrics.dto.js';
import type { ComparedMetrics, Comparison, ComparisonWindow } from './comparison.dto.js';
import type { Range } from '../http/parameters.js';
import { NAMED_TYPES, toTotals } from './get-metrics.js';
import { Invalid } from '../errors.js';
import { dayOf, EARLIEST, formatInstant, MS_PER_DAY } from '../events/instant.js';
import { type AsOf, momentOf } from '../http/responses/send-snapshot.js';
import { MetricsQueries, type MetricsQuery } from './metrics-queries.js';

/** Returns the same UTC date and time one year earlier; 29 February becomes 28 February. */
const yearBefore = (instant: number): number => {
  const date = new Date(instant);
  const month = date.getUTCMonth();
  date.setUTCFullYear(date.getUTCFullYear() - 1);
  if (date.getUTCMonth() !== month) date.setUTCDate(0);
  return date.getTime();
};

const isLeapDay = (instant: number): boolean => {
  const date = new Date(instant);
  return date.getUTCMonth() === 1 && date.getUTCDate() === 29;
};

/**
 * Returns the same dates a year earlier. If the range ends on 29 February, the earlier range includes all of 28
 * February. Otherwise the earlier range could end before its start.
 */
const sameDates = ({ from, to }: Range): Range => {
  const end = yearBefore(to);
  const isEndOfFebruary = isLeapDay(to) && dayOf(from) < dayOf(to);
  return { from: yearBefore(from), to: isEndOfFebruary ? (dayOf(end) + 1) * MS_PER_DAY - 1 : end };
};

/** @throws Invalid if the earlier range would begin before year 1 */
export const earlierRange = (range: Range, earlier: ComparisonWindow): Range => {
  const { from, to } = range;
  const length = Math.max(0, to - from + 1);
  const before = earlier === 'year' ? sameDates(range) : { from: from - length, to: from - 1 };
  if (before.from < EARLIEST)
    throw new Invalid('startDate must be later, because the earlier range would begin before year 1');
  return before;
};

/** Types without a separate total are counted as ''. */
const KIND = `case when type in (${NAMED_TYPES.map((type) => `'${type}'`).join(', ')}) then type else '' end`;

/** Returns SQL for the totals of a range by measure and kind. @param suffix of the names of the parameters */
const sums = (suffix = ''): string => `
      (select json_agg(json_build_array(measure, kind, n)) from (
        select measure, kind, sum(n)::bigint as n from (
          select measure, '' as kind, n from read.days
          where ${OWNED} and measure in (${OTHER_MEASURES.join(', ')})
            and day between :firstDay${suffix} and :lastDay${suffix}
          union all
          select ${MEASURE.threat}, ${KIND}, n from read.type_days
          where ${OWNED} and day between :firstDay${suffix} and :lastDay${suffix}
          union all
          select measure, ${KIND}, 1 from read.facts
          where ${OWNED} and at between :from${suffix} and :beforeWholeDaysTo${suffix}
          union all
          select measure, ${KIND}, 1 from read.facts
          where ${OWNED} and at between :afterWholeDaysFrom${suffix} and :to${suffix}
        ) parts group by measure, kind
      ) sums)`;

type Sums = readonly (readonly [measure: number, kind: string, n: number])[];

/** Counts two ranges in one statement, so that both are from one snapshot. */
export const COMPARISON = statement(
  'metrics-comparison',
  { ...COUNTED_RANGE, ...suffixed(COUNTED_RANGE, 'Before') },
  { ...MOMENT_COLUMNS, current: nullable(json<Sums>()), earlier: nullable(json<Sums>()) },
  `
    select ${MOMENT},
      ${sums()} as current,
      ${sums('Before')} as earlier`,
);

const totalsOf = (counted: Sums | null): Totals => {
  const sum = (matches: (measure: number, kind: string) => boolean): number =>
    (counted ?? []).reduce((total, [measure, kind, n]) => (matches(measure, kind) ? total + n : total), 0);
  return toTotals(
    (otherMeasure) => sum((measure) => measure === otherMeasure),
    (type) => sum((measure, kind) => measure === MEASURE.threat && kind === type),
    sum((measure) => measure === MEASURE.threat),
  );
};

export class CompareMetrics extends queryOf<
  AsOf<Comparison>,
  MetricsQuery & { readonly earlier: ComparisonWindow }
>() {}

const compared = ({ from, to }: Range, metrics: Totals): ComparedMetrics => ({
  window: { startDate: formatInstant(from), endDate: formatInstant(to) },
  metrics,
});

@QueryHandler(CompareMetrics)
export class CompareMetricsHandler implements IQueryHandler<CompareMetrics> {
  constructor(private readonly queries: MetricsQueries) {}

  /**
   * @throws as `MetricsQueries.run`
   * @throws Invalid if the earlier range would begin before year 1
   */
  execute(query: CompareMetrics): Promise<AsOf<Comparison>> {
    const { organization, brand } = query;
    return this.queries.run(query, async (pool, range) => {
      const before = earlierRange(range, query.earlier);
      const [counted] = await COMPARISON.run(pool, {
        ...countValues(organization, brand ?? '', range),
        ...suffixed(countValues(organization, brand ?? '', before), 'Before'),
      });
      const [current, earlier] = [totalsOf(counted!.current), totalsOf(counted!.earlier)];
      return {
        result: {
          with: query.earlier,
          current: compared(range, current),
          earlier: compared(before, earlier),
          difference: eachOf(METRIC_NAMES, (name) => current[name] - earlier[name]),
          ratio: eachOf(METRIC_NAMES, (name) => (earlier[name] === 0 ? null : current[name] / earlier[name])),
        },
        ...momentOf(counted!),
        requestInstants: query.range.to === undefined ? [range.to, before.from, before.to] : [],
      };
    });
  }
}
