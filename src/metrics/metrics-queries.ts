import { Injectable } from '@nestjs/common';
import { NO_REPLICAS, Replicas, TooOld } from '../read-models/replicas.js';
import { Unavailable } from '../errors.js';
import { checkBrand } from '../http/access/access.js';
import { DatabaseClock } from '../postgres/clock.js';
import type { Connection } from '../postgres/statement.js';
import { isStatementTimeout, TIMED_OUT_RETRY_SECONDS } from '../postgres/transient-errors.js';
import { MetricsPool } from '../read-models/pools.js';
import { ConcurrencyLimit, declareQueue } from '../flow/concurrency-limit.js';
import { TimeSlices } from '../flow/turns.js';
import { type RequestedRange, type Range, rangeAt } from '../http/parameters.js';
import { lacksHistory, type Moment, READ_MOMENT } from './past-sql.js';

/**
 * One query at a time: a query of many days occupies a processor of PostgreSQL and then the event loop, and the queries
 * of other organizations need the same two. Together with the timeouts of connection and statement, a query takes at
 * most 5 s.
 */
const CONCURRENCY = declareQueue({
  name: 'metrics queries',
  maxRunning: 1,
  maxWaiting: 32,
  waitTimeoutMs: 1_000,
  cooldownMs: 500,
});

/** The parameters of every metrics query. */
export interface MetricsQuery {
  readonly organization: string;
  readonly range: RequestedRange;
  /** Undefined: the whole organization is counted. */
  readonly brand?: string | undefined;
  /** The position of the log that the result must include. */
  readonly minPosition?: number | undefined;
  /** The latest state of the past that the result is about. A replica must have reached it. Undefined: the present. */
  readonly known?: Moment | undefined;
}

/**
 * `KnownMoments` has checked the primary, but a replica may not have the rows of a rebuild yet.
 * @throws TooOld if the rows were written by an earlier version
 */
const requireHistory = async (replica: Connection): Promise<void> => {
  const [row] = await READ_MOMENT.run(replica, { instant: 0, position: -1n });
  if (lacksHistory(row!)) throw new TooOld('The rows of the replica do not say since when they count');
};

/** Runs metrics queries, with a limit of concurrent queries for each organization. */
@Injectable()
export class MetricsQueries {
  private readonly concurrency: ConcurrencyLimit;

  constructor(
    private readonly pool: MetricsPool,
    private readonly replicas: Replicas = NO_REPLICAS,
    private readonly clock: DatabaseClock = new DatabaseClock(),
    slices: TimeSlices = new TimeSlices(),
  ) {
    this.concurrency = new ConcurrencyLimit(CONCURRENCY, slices);
  }

  /**
   * Waits until the organization may run a query, checks the brand, then calls `answer`.
   * @param query waiting queries with the same class and parameters share one result
   * @param answer runs a single statement, so that the result is from one snapshot. `answer` gets the range and the
   *   current time in ms, by the database's clock
   * @throws Forbidden if the organization may not see brands, NotFound if the organization has no such brand
   * @throws Unavailable if the database is unavailable, or the range takes too long to count
   * @throws TooManyRequests if too many queries of the organization are waiting
   */
  run<Answer>(
    query: MetricsQuery,
    answer: (connection: Connection, range: Range, now: number) => Promise<Answer>,
  ): Promise<Answer> {
    const { organization, brand, minPosition = -1, known } = query;
    return this.inTurn(organization, query.constructor.name + JSON.stringify(query), async () => {
      // The time is read when the query starts, which is after the arrival of all requests that share the result.
      const now = this.clock.now();
      try {
        const ask = async (connection: Connection, isReplica: boolean): Promise<Answer> => {
          if (isReplica && known !== undefined) await requireHistory(connection);
          if (brand !== undefined) await checkBrand(connection, organization, brand);
          return answer(connection, rangeAt(query.range, now), now);
        };
        return await this.replicas.read('metrics', this.pool, ask, Math.max(minPosition, known?.position ?? -1));
      } catch (error) {
        if (isStatementTimeout(error))
          throw new Unavailable(
            'Counting this range takes too long; request a shorter range, or try again',
            TIMED_OUT_RETRY_SECONDS,
            { cause: error },
          );
        throw error;
      }
    });
  }

  /**
   * Runs a statement in the turn of an organization.
   * @param key as in `ConcurrencyLimit.run`
   * @throws as `ConcurrencyLimit.run`
   */
  inTurn<Result>(organization: string, key: string, statement: () => Promise<Result>): Promise<Result> {
    return this.concurrency.run(organization, key, statement);
  }
}
