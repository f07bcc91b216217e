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

/** The parameters of every metrics query. */
export interface MetricsQuery {
  readonly organization: string;
  readonly range: AskedRange;
  /** Absent: the organization as a whole. */
  readonly brand: string | undefined;
}

/** An answer, all of one snapshot. */
export interface AsOf<Answer> {
  readonly answer: Answer;
  /** Everything acknowledged before this instant (ms) is counted. */
  readonly asOf: number;
  /** Instants (ms) in the answer that only reflect the time of the request, and so do not count as content. */
  readonly clock?: readonly number[];
}

/** Runs a query's single statement, and so its single snapshot. */
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
   * Waits for the organization's turn, checks the brand, then calls `answer`.
   * @param query equal queries of a class share an answer
   * @param answer gets `count`, which returns a statement's single row, the range as of now, and the current time (ms)
   * @throws Forbidden if the organization may not see brands, NotFound if it has no such brand
   * @throws Unavailable if the database is unavailable, or the range takes too long to count
   * @throws TooManyRequests if too many queries of the organization are waiting
   */
  run<Answer>(
    query: MetricsQuery,
    answer: (count: Count, range: Range, now: number) => Promise<Answer>,
  ): Promise<Answer> {
    const { organization, brand } = query;
    return this.turns.take(organization, query.constructor.name + JSON.stringify(query), async () => {
      // Read only now, so that everyone who shares this answer gets a range that covers their own request.
      const now = Date.now();
      const count: Count = async <Row extends QueryResultRow>(statement: QueryConfig) =>
        (await this.pool.query<Row>(statement)).rows[0]!;
      try {
        if (brand !== undefined) await this.checkBrand(organization, brand);
        return await answer(count, rangeAt(query.range, now), now);
      } catch (error) {
        if (isTimeLimit(error))
          throw new Unavailable('This range takes too long to count; request a shorter one, or try again', 1, {
            cause: error,
          });
        throw asUnavailable(error);
      }
    });
  }

  private async checkBrand(organization: string, brand: string): Promise<void> {
    // Only a slug can name a brand; anything else is not sent, since PostgreSQL might not accept it as text.
    const asked = { organization, brand: SLUG.test(brand) ? brand : '' };
    const { enabled, registered } = (await findBrand(this.pool, asked))[0]!;
    if (!enabled) throw new Forbidden('Brand metrics are not enabled for this organization');
    if (!registered) throw new NotFound('Brand not found');
  }
}
