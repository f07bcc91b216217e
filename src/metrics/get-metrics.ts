import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { Pool } from 'pg';
import { Forbidden, NotFound } from '../errors.js';
import { SLUG } from '../events/fields.js';
import { dayOf, formatDay, MS_PER_DAY } from '../events/instant.js';
import { MEASURE } from '../read-models/measure.js';
import { asUnavailable } from '../read-models/unavailable.js';
import { COUNT, type Counted } from './count-sql.js';
import type { Metrics } from './metrics.dto.js';
import type { Range } from './range.js';

export interface MetricsAsOf {
  readonly metrics: Metrics;
  /** Everything answered at the door before this instant (ms) is counted. */
  readonly asOf: number;
}

export class GetMetrics extends Query<MetricsAsOf> {
  constructor(
    readonly organization: string,
    readonly range: Range,
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

/** A range in ms as whole days and the two broken days at its edges; an empty part begins after its end. */
const cut = ({ from, to }: Range): number[] => {
  const firstWhole = Math.ceil(from / MS_PER_DAY);
  const lastWhole = dayOf(to + 1) - 1;
  if (firstWhole > lastWhole) return [1, 0, from, to, 1, 0];
  return [firstWhole, lastWhole, from, firstWhole * MS_PER_DAY - 1, (lastWhole + 1) * MS_PER_DAY, to];
};

const byCountThenName = ([a, m]: readonly [string, number], [b, n]: readonly [string, number]): number =>
  n - m || (a < b ? -1 : 1);

const toMetrics = ({ totals, types, days }: Counted): Metrics => {
  const total = (measure: number): number => totals?.[measure] ?? 0;
  const blocked: Record<string, number> = Object.fromEntries(types ?? []);
  const newThreats = (types ?? []).reduce((sum, [, n]) => sum + n, 0);
  const domainThreats = (blocked['URL'] ?? 0) + (blocked['PAGE'] ?? 0);
  const twitterThreats = blocked['TWITTER'] ?? 0;
  const telegramThreats = blocked['TELEGRAM'] ?? 0;
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
    blockedByType: [...(types ?? [])].sort(byCountThenName).map(([type, count]) => ({ type, count })),
    blockedByDay: (days ?? []).map(([day, count]) => ({ date: formatDay(day), count })),
  };
};

@QueryHandler(GetMetrics)
export class GetMetricsHandler implements IQueryHandler<GetMetrics> {
  constructor(private readonly pool: Pool) {}

  /**
   * @throws Forbidden where the organization may not see brands, NotFound where it has no such brand
   * @throws Unavailable where the database is away
   */
  async execute({ organization, range, brand }: GetMetrics): Promise<MetricsAsOf> {
    try {
      if (brand !== undefined) await this.checkBrand(organization, brand);
      const values = [organization, brand ?? '', ...cut(range)];
      const [counted] = (await this.pool.query<Counted>({ ...COUNT, values })).rows;
      return { metrics: toMetrics(counted!), asOf: counted!.asOf ?? 0 };
    } catch (error) {
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
