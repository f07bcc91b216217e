import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { queryOf } from '../http/requests.js';
import { MEASURE } from '../events/facts.js';
import type { Totals, Metrics } from './metrics.dto.js';
import { Unprocessable } from '../errors.js';
import { dayOf, formatDay } from '../events/instant.js';
import { COUNT, type Counted, countValues, MAX_DAYS, MAX_TYPES, TOO_MANY, TOO_MANY_COUNTS } from './count-sql.js';
import { type AsOf, momentOf } from '../http/responses/send-snapshot.js';
import { MetricsQueries, type MetricsQuery } from './metrics-queries.js';
import type { Range } from '../http/parameters.js';
import { COUNT_KNOWN, daysBefore, type KnownCounts, knownValues, rangeThen } from './past-sql.js';

/** Asset types with a separate total. */
export const NAMED_TYPES = ['URL', 'PAGE', 'TWITTER', 'TELEGRAM'] as const;

/**
 * Creates the totals.
 * @param total returns the count of a measure other than threats
 * @param ofType returns the number of blocked threats of a type
 * @param newThreats the number of blocked threats of all types
 */
export const toTotals = (
  total: (measure: number) => number,
  ofType: (type: (typeof NAMED_TYPES)[number]) => number,
  newThreats: number,
): Totals => {
  const domainThreats = ofType('URL') + ofType('PAGE');
  const twitterThreats = ofType('TWITTER');
  const telegramThreats = ofType('TELEGRAM');
  return {
    reports: total(MEASURE.report),
    newThreats,
    threatsWatchlisted: total(MEASURE.threatWatchlisted),
    takedownsFiled: total(MEASURE.takedownFiled),
    takedownsCompleted: total(MEASURE.takedownCompleted),
    domainThreats,
    twitterThreats,
    telegramThreats,
    otherThreats: newThreats - domainThreats - twitterThreats - telegramThreats,
  };
};

export class GetMetrics extends queryOf<AsOf<Metrics>, MetricsQuery>() {}

const byCountThenName = ([a, m]: readonly [string, number], [b, n]: readonly [string, number]): number =>
  n - m || (a < b ? -1 : 1);

const add = <Key>(sums: Map<Key, number>, key: Key, n: number): void => {
  sums.set(key, (sums.get(key) ?? 0) + n);
};

/**
 * Adds up the parts of a range, and corrections for a moment in the past.
 * @throws Unprocessable if there are more than `MAX_DAYS` days or `MAX_TYPES` asset types
 */
export const toMetrics = (counted: Counted, range: Range, corrections: KnownCounts['corrections'] = []): Metrics => {
  const { firstFacts, lastFacts } = counted;
  if (
    (counted.days?.length ?? 0) > MAX_DAYS ||
    counted.types === TOO_MANY ||
    firstFacts === TOO_MANY ||
    lastFacts === TOO_MANY ||
    corrections === TOO_MANY
  )
    throw new Unprocessable(TOO_MANY_COUNTS);
  const totals = new Map(counted.totals);
  const types = new Map(counted.types);
  const days = new Map<number, number>();
  const addFacts = (facts: typeof firstFacts, day: number): void => {
    for (const [measure, type, n] of facts ?? []) {
      if (measure !== MEASURE.threat) {
        add(totals, measure, n);
        continue;
      }
      add(types, type, n);
      add(days, day, n);
    }
  };
  addFacts(firstFacts, dayOf(range.from));
  counted.days?.forEach((day, index) => days.set(day, counted.counts![index]!));
  addFacts(lastFacts, dayOf(range.to));
  for (const [measure, type, day, n] of corrections) addFacts([[measure, type, n]], day);
  if (days.size > MAX_DAYS || types.size > MAX_TYPES) throw new Unprocessable(TOO_MANY_COUNTS);

  const blockedByType = [...types]
    .filter(([, count]) => count > 0)
    .sort(byCountThenName)
    .map(([type, count]) => ({ type, count }));
  const newThreats = blockedByType.reduce((sum, { count }) => sum + count, 0);
  return {
    metrics: toTotals(
      (measure) => totals.get(measure) ?? 0,
      (type) => types.get(type) ?? 0,
      newThreats,
    ),
    blockedByType,
    blockedByDay: [...days]
      .filter(([, count]) => count > 0)
      .sort(([a], [b]) => a - b)
      .map(([day, count]) => ({ date: formatDay(day), count })),
  };
};

@QueryHandler(GetMetrics)
export class GetMetricsHandler implements IQueryHandler<GetMetrics> {
  constructor(private readonly queries: MetricsQueries) {}

  /**
   * @throws as `MetricsQueries.run`
   * @throws Unprocessable if the range has more than `MAX_DAYS` days or `MAX_TYPES` asset types with a threat
   */
  execute(query: GetMetrics): Promise<AsOf<Metrics>> {
    const { organization, brand } = query;
    const { known } = query;
    if (known === undefined)
      return this.queries.run(query, async (pool, range) => {
        const [counted] = await COUNT.run(pool, countValues(organization, brand ?? '', range));
        return { result: toMetrics(counted!, range), ...momentOf(counted!) };
      });
    const range = rangeThen(query.range, known);
    return this.queries.run(query, async (pool) => {
      const [counted] = await COUNT_KNOWN.run(pool, knownValues(organization, brand ?? '', range, known));
      const result = toMetrics(counted!, daysBefore(range, known), counted!.corrections);
      return { result, ...momentOf(counted!), knownAt: known.instant };
    });
  }
}
