import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { Forbidden, NotFound, Unavailable, Unprocessable } from '../errors.js';
import { SLUG } from '../events/fields.js';
import { formatDay } from '../events/instant.js';
import { MEASURE } from '../read-models/measure.js';
import { MetricsPool } from '../read-models/pools.js';
import { asUnavailable, isTimeLimit } from '../postgres/transient-errors.js';
import { COUNT, type Counted, countValues, edgeDays, MAX_DAYS, MAX_TYPES } from './count-sql.js';
import type { Metrics } from './metrics.dto.js';
import { QueryTurns } from './query-turns.js';
import { type AskedRange, type Range, rangeAt } from './range.js';

export interface MetricsAsOf {
  readonly metrics: Metrics;
  /** Everything answered at the door before this instant (ms) is counted. */
  readonly asOf: number;
}

export class GetMetrics extends Query<MetricsAsOf> {
  constructor(
    readonly organization: string,
    readonly range: AskedRange,
    readonly brand: string | undefined,
  ) {
    super();
  }
}

const FIND_BRAND = {
  name: 'metrics-find-brand',
  text: `
    select
      exists (select from read.feature_flags where organization = $1 and flag = 'brands-metrics' and enabled) as enabled,
      exists (select from read.brands where organization = $1 and brand = $2 and registered) as registered`,
};

const byCountThenName = ([a, m]: readonly [string, number], [b, n]: readonly [string, number]): number =>
  n - m || (a < b ? -1 : 1);

const add = <Key>(sums: Map<Key, number>, key: Key, n: number): void => {
  sums.set(key, (sums.get(key) ?? 0) + n);
};

/**
 * Adds the parts up. The first day comes before the whole ones and the last one after them, so the days stay in order.
 * @throws Unprocessable where an answer cannot hold as much
 */
const toMetrics = (counted: Counted, range: Range): Metrics => {
  const totals = new Map(counted.totals);
  const types = new Map(counted.types);
  const days = new Map<number, number>();
  const addFacts = (facts: Counted['firstFacts'], day: number): void => {
    for (const [measure, type, n] of facts ?? []) {
      if (measure !== MEASURE.threat) {
        add(totals, measure, n);
        continue;
      }
      add(types, type, n);
      add(days, day, n);
    }
  };
  if ((counted.days?.length ?? 0) > MAX_DAYS || types.size > MAX_TYPES)
    throw new Unprocessable(
      `An answer holds at most ${MAX_DAYS} days and ${MAX_TYPES} asset types; ask for a shorter range`,
    );
  const [firstDay, lastDay] = edgeDays(range);
  addFacts(counted.firstFacts, firstDay);
  counted.days?.forEach((day, index) => days.set(day, counted.counts![index]!));
  addFacts(counted.lastFacts, lastDay);

  const total = (measure: number): number => totals.get(measure) ?? 0;
  const ofType = (type: string): number => types.get(type) ?? 0;
  const blockedByType = [...types].sort(byCountThenName).map(([type, count]) => ({ type, count }));
  const newThreats = blockedByType.reduce((sum, { count }) => sum + count, 0);
  const domainThreats = ofType('URL') + ofType('PAGE');
  const twitterThreats = ofType('TWITTER');
  const telegramThreats = ofType('TELEGRAM');
  return {
    metrics: {
      reports: total(MEASURE.report),
      newThreats,
      threatsWatchlisted: total(MEASURE.threatWatchlisted),
      takedownsFiled: total(MEASURE.takedownFiled),
      takedownsCompleted: total(MEASURE.takedownCompleted),
      domainThreats,
      twitterThreats,
      telegramThreats,
      otherThreats: newThreats - domainThreats - twitterThreats - telegramThreats,
    },
    blockedByType,
    blockedByDay: [...days].map(([day, count]) => ({ date: formatDay(day), count })),
  };
};

@QueryHandler(GetMetrics)
export class GetMetricsHandler implements IQueryHandler<GetMetrics> {
  private readonly turns = new QueryTurns();

  constructor(private readonly pool: MetricsPool) {}

  /**
   * @throws Forbidden where the organization may not see brands, NotFound where it has no such brand
   * @throws Unavailable where the database is away, or the range takes too long to count
   * @throws Unprocessable where the range has more days or asset types than an answer holds
   * @throws TooManyRequests where too many queries of the organization are waiting
   */
  async execute({ organization, range, brand }: GetMetrics): Promise<MetricsAsOf> {
    const question = JSON.stringify([range.from, range.to, brand]);
    return this.turns.take(organization, question, () => this.count(organization, range, brand));
  }

  private async count(organization: string, asked: AskedRange, brand: string | undefined): Promise<MetricsAsOf> {
    // Only now, so that all who wait for this answer are told of everything up to their own request.
    const range = rangeAt(asked, Date.now());
    try {
      if (brand !== undefined) await this.checkBrand(organization, brand);
      const values = countValues(organization, brand ?? '', range);
      const [counted] = (await this.pool.query<Counted>({ ...COUNT, values })).rows;
      return { metrics: toMetrics(counted!, range), asOf: counted!.asOf ?? 0 };
    } catch (error) {
      if (isTimeLimit(error))
        throw new Unavailable('This range takes too long to count; ask for a shorter one, or try again', 1, {
          cause: error,
        });
      throw asUnavailable(error);
    }
  }

  private async checkBrand(organization: string, brand: string): Promise<void> {
    // What is no slug names no brand; it is not sent, since it may be no text for PostgreSQL either.
    const values = [organization, SLUG.test(brand) ? brand : ''];
    const { rows } = await this.pool.query<{ enabled: boolean; registered: boolean }>({ ...FIND_BRAND, values });
    const { enabled, registered } = rows[0]!;
    if (!enabled) throw new Forbidden('Brand metrics are not enabled for this organization');
    if (!registered) throw new NotFound('Brand not found');
  }
}
