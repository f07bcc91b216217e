import { Injectable } from '@nestjs/common';
import type { QueryConfig, QueryResultRow } from 'pg';
import { NO_REPLICAS, Replicas, TooOld } from '../read-models/replicas/replicas.js';
import { Unavailable } from '../errors.js';
import { ConcurrencyLimit } from '../flow/concurrency-limit.js';
import type { Connection } from '../postgres/statement.js';
import { asUnavailable, isStatementTimeout, TIMED_OUT_RETRY_SECONDS } from '../postgres/transient-errors.js';
import { RecordsPool } from '../read-models/pools.js';
import { InitialBackfill } from './initial-backfill.js';

/** Sends a statement and returns its rows. */
export type Send = <Row extends QueryResultRow>(statement: QueryConfig) => Promise<Row[]>;

/** Reads from one server, a replica or the primary. All statements go to the same server. */
export type AnswerFrom<Result> = (send: Send, connection: Connection, isReplica: boolean) => Promise<Result>;

/**
 * @throws TooOld if the replica is behind the position that this client has already seen; the query is then retried on
 *   the primary
 */
export const requireReached = (isReplica: boolean, upTo: number | null, seen: number | null): void => {
  if (isReplica && (upTo ?? -1) < (seen ?? -1))
    throw new TooOld('The replica is behind the position that the client has already seen');
};

/** Runs the queries of lists and of the feed, with limits per organization. */
@Injectable()
export class RecordQueries {
  private readonly concurrency = new ConcurrencyLimit({
    name: 'record queries',
    maxRunning: 2,
    maxWaiting: 32,
    waitTimeoutMs: 1_000,
    cooldownMs: 0,
  });

  private readonly feedConcurrency = new ConcurrencyLimit({
    name: 'feed requests',
    maxRunning: 2,
    maxWaiting: 96,
    waitTimeoutMs: 4_000,
    cooldownMs: 0,
  });

  constructor(
    private readonly pool: RecordsPool,
    private readonly backfill: InitialBackfill,
    private readonly replicas: Replicas = NO_REPLICAS,
  ) {}

  /**
   * Runs a query of the feed as `run` does, with separate limits, because a change wakes many waiting requests of an
   * organization at once.
   */
  runFeed<Result>(organization: string, key: string, read: AnswerFrom<Result>, minPosition?: number): Promise<Result> {
    return this.runIn(this.feedConcurrency, organization, key, read, minPosition);
  }

  /**
   * Waits until the organization may run another query, and then calls `read`.
   * @param key concurrent calls with the same key share one result
   * @param minPosition the position of the log that the result must include
   * @throws Unavailable if the database is unavailable, the initial backfill is not complete, or the query takes too
   *   long
   * @throws TooManyRequests if too many queries of the organization are waiting
   */
  run<Result>(organization: string, key: string, read: AnswerFrom<Result>, minPosition?: number): Promise<Result> {
    return this.runIn(this.concurrency, organization, key, read, minPosition);
  }

  private async runIn<Result>(
    concurrency: ConcurrencyLimit,
    organization: string,
    key: string,
    read: AnswerFrom<Result>,
    minPosition: number | undefined,
  ): Promise<Result> {
    await this.backfill.requireComplete();
    return concurrency.run(organization, key, async () => {
      try {
        const readFrom = (connection: Connection, isReplica: boolean): Promise<Result> =>
          read(
            async <Row extends QueryResultRow>(statement: QueryConfig) => {
              const { rows } = await connection.query(statement);
              return rows as Row[];
            },
            connection,
            isReplica,
          );
        return await this.replicas.read('records', this.pool, readFrom, minPosition);
      } catch (error) {
        if (isStatementTimeout(error))
          throw new Unavailable(
            'Reading this selection takes too long; narrow the range or the filters, or try again',
            TIMED_OUT_RETRY_SECONDS,
            { cause: error },
          );
        throw asUnavailable(error);
      }
    });
  }
}
