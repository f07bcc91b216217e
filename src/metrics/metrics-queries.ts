import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { QueryConfig, QueryResultRow } from 'pg';
import { Forbidden, NotFound, Unavailable } from '../errors.js';
import { SLUG } from '../events/fields.js';
import { asUnavailable, isTimeLimit } from '../postgres/transient-errors.js';
import { compiled } from '../read-models/compiled.js';
import { MetricsPool } from '../read-models/pools.js';
import { QueryTurns } from './query-turns.js';
import { type AskedRange, type Range, rangeAt } from './range.js';

/** What every query of metrics names. */
export interface MetricsQuery {
  readonly organization: string;
  readonly range: AskedRange;
  /** Absent: the organization as a whole. */
  readonly brand: string | undefined;
}

/** The one statement that a query is, and so the one snapshot. */
export type Count = <Row extends QueryResultRow>(statement: QueryConfig) => Promise<Row>;

const findBrand = compiled(
  'metrics-find-brand',
  (db, { organization, brand }: { organization: string; brand: string }) =>
    db.selectNoFrom((eb) => [
      eb
        .exists(
          eb
            .selectFrom('feature_flags')
            .where('organization', '=', organization)
            .where('flag', '=', sql.lit('brands-metrics'))
            .where('enabled', 'is', true),
        )
        .as('enabled'),
      eb
        .exists(
          eb
            .selectFrom('brands')
            .where('organization', '=', organization)
            .where('brand', '=', brand)
            .where('registered', 'is', true),
        )
        .as('registered'),
    ]),
);

/** Runs the metrics queries of all organizations, within the limits of each. */
@Injectable()
export class MetricsQueries {
  private readonly turns = new QueryTurns();

  constructor(private readonly pool: MetricsPool) {}

  /**
   * Waits for the organization's turn, checks the brand, then lets `answer` count.
   * @param query equal ones of a class share an answer
   * @param answer is given `count`, which gives a statement's one row, the range as it is by then, and what time (ms) it is
   * @throws Forbidden where the organization may not see brands, NotFound where it has no such brand
   * @throws Unavailable where the database is away, or the range takes too long to count
   * @throws TooManyRequests where too many queries of the organization are waiting
   */
  run<Answer>(
    query: MetricsQuery,
    answer: (count: Count, range: Range, now: number) => Promise<Answer>,
  ): Promise<Answer> {
    const { organization, brand } = query;
    return this.turns.take(organization, query.constructor.name + JSON.stringify(query), async () => {
      // Only now, so that all who wait for this answer are told of everything up to their own request.
      const now = Date.now();
      const count: Count = async <Row extends QueryResultRow>(statement: QueryConfig) =>
        (await this.pool.query<Row>(statement)).rows[0]!;
      try {
        if (brand !== undefined) await this.checkBrand(organization, brand);
        return await answer(count, rangeAt(query.range, now), now);
      } catch (error) {
        if (isTimeLimit(error))
          throw new Unavailable('This range takes too long to count; ask for a shorter one, or try again', 1, {
            cause: error,
          });
        throw asUnavailable(error);
      }
    });
  }

  private async checkBrand(organization: string, brand: string): Promise<void> {
    // What is no slug names no brand; it is not sent, since it may be no text for PostgreSQL either.
    const asked = { organization, brand: SLUG.test(brand) ? brand : '' };
    const { enabled, registered } = (await findBrand(this.pool, asked))[0]!;
    if (!enabled) throw new Forbidden('Brand metrics are not enabled for this organization');
    if (!registered) throw new NotFound('Brand not found');
  }
}
