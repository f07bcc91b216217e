import { Injectable } from '@nestjs/common';
import type { QueryConfig, QueryResultRow } from 'pg';
import { NO_REPLICAS, Replicas, TooOld } from '../read-models/replicas/replicas.js';
import { Unavailable } from '../errors.js';
import { OrganizationTurns } from '../flow/organization-turns.js';
import type { Connection } from '../postgres/statement.js';
import { asUnavailable, isStatementTimeout } from '../postgres/transient-errors.js';
import { RecordsPool } from '../read-models/pools.js';
import { FirstFill } from './first-fill.js';

/** Sends a statement. */
export type Send = <Row extends QueryResultRow>(statement: QueryConfig) => Promise<Row[]>;

/** Answers from one server, a replica or the primary: all that it sends goes there. */
export type AnswerFrom<Answer> = (send: Send, connection: Connection, isReplica: boolean) => Promise<Answer>;

/** @throws TooOld if the replica is behind what this client has already seen, so that the query is retried on the primary */
export const requireReached = (isReplica: boolean, upTo: number | null, seen: number | null): void => {
  if (isReplica && (upTo ?? -1) < (seen ?? -1))
    throw new TooOld('This replica is behind what the client has already seen');
};

/** Runs the queries of lists and feed of all organizations, within the limits of each. */
@Injectable()
export class RecordQueries {
  private readonly turns = new OrganizationTurns({
    name: 'record queries',
    running: 2,
    waiting: 32,
    patience: 1_000,
    rest: 0,
  });

  private readonly feedTurns = new OrganizationTurns({
    name: 'feed requests',
    running: 2,
    waiting: 96,
    patience: 4_000,
    rest: 0,
  });

  constructor(
    private readonly pool: RecordsPool,
    private readonly fill: FirstFill,
    private readonly replicas: Replicas = NO_REPLICAS,
  ) {}

  /** As `run`, in turns of their own: many requests of an organization that wait for the feed are woken at once. */
  runFeed<Answer>(
    organization: string,
    question: string,
    answer: AnswerFrom<Answer>,
    minPosition?: number,
  ): Promise<Answer> {
    return this.runIn(this.feedTurns, organization, question, answer, minPosition);
  }

  /**
   * Waits for the organization's turn, then calls `answer`.
   * @param question equal ones share an answer
   * @param minPosition the position of the log that the answer must include
   * @throws Unavailable if the database is unavailable, the tables are not filled yet, or the query takes too long
   * @throws TooManyRequests if too many of the organization's queries are waiting
   */
  run<Answer>(
    organization: string,
    question: string,
    answer: AnswerFrom<Answer>,
    minPosition?: number,
  ): Promise<Answer> {
    return this.runIn(this.turns, organization, question, answer, minPosition);
  }

  private async runIn<Answer>(
    turns: OrganizationTurns,
    organization: string,
    question: string,
    answer: AnswerFrom<Answer>,
    minPosition: number | undefined,
  ): Promise<Answer> {
    await this.fill.done();
    return turns.runInTurn(organization, question, async () => {
      try {
        const ask = (connection: Connection, isReplica: boolean): Promise<Answer> =>
          answer(
            async <Row extends QueryResultRow>(statement: QueryConfig) => {
              const { rows } = await connection.query(statement);
              return rows as Row[];
            },
            connection,
            isReplica,
          );
        return await this.replicas.read('records', this.pool, ask, minPosition);
      } catch (error) {
        if (isStatementTimeout(error))
          throw new Unavailable(
            'Reading this selection takes too long; narrow the range or the filters, or try again',
            1,
            { cause: error },
          );
        throw asUnavailable(error);
      }
    });
  }
}
