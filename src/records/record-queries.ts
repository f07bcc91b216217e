import { Injectable } from '@nestjs/common';
import { Pool, type QueryConfig, type QueryResultRow } from 'pg';
import { ITEM_PARTS } from './item.js';
import { nullable, statement, type Connection } from '../postgres/statement.js';
import { Unavailable } from '../errors.js';
import { EventLog } from '../event-log/event-log.js';
import { asUnavailable, isStatementTimeout, TIMED_OUT_RETRY_SECONDS } from '../postgres/transient-errors.js';
import { Checkpoints } from '../read-models/checkpoints.js';
import { NO_REPLICAS, Replicas, TooOld } from '../read-models/replicas.js';
import { ConcurrencyLimit, declareQueue } from '../flow/concurrency-limit.js';
import { singleFlight } from '../flow/shared-work.js';
import { TimeSlices } from '../flow/turns.js';
import { RecordsPool } from '../read-models/pools.js';

export const SELECT_MOMENT = `
      select
        (select as_of from read.checkpoints where projection = 'register') as "asOf",
        (select position from read.checkpoints where projection = 'register') as "upTo"`;
export const MOMENT_COLUMNS = {
  /** The rows include everything that was acknowledged before this instant (ms). */
  asOf: nullable('bigint'),
  /** The position of the log that the rows include. */
  upTo: nullable('bigint'),
} as const;

/** A record of a list. */
export interface ItemRow {
  readonly id: string;
  /** The item as JSON. */
  readonly item: string;
}

/** Finds a record; `parts`, as in `ITEM_PARTS`, is null if the record does not exist. */
export const FIND_RECORD = statement(
  'records-find',
  { organization: 'text', record: 'uuid' },
  { ...MOMENT_COLUMNS, parts: nullable('text') },
  `
    select c.*, (
      select ${ITEM_PARTS} from read.register where record = :record and organization = :organization
    ) as parts
    from (${SELECT_MOMENT}
    ) c`,
);

/** When a migration was applied, by the database's clock (ms). */
export const READ_MIGRATION_TIME = statement(
  'records-fill',
  { migration: 'text' },
  { madeAt: 'bigint' },
  `
    select floor(extract(epoch from applied_at::timestamptz) * 1000)::bigint as "madeAt"
    from read.later_migrations where name = :migration`,
);

/** The migration that creates the tables. */
const MIGRATION = '0037-register';
const RETRY_AFTER_SECONDS = 5;
const PROGRESS_TTL_MS = 500;

/**
 * After an upgrade, the tables are filled while the service runs. Requests are rejected until the tables contain all
 * events from before the upgrade, because incomplete lists would look complete.
 */
@Injectable()
export class InitialBackfill {
  private isComplete = false;
  /** When the tables were created, in ms by the database's clock. */
  private createdAt: number | undefined;
  /** The database is queried at most twice a second, regardless of the number of requests. */
  private readonly progress = singleFlight(() => this.readProgress(), PROGRESS_TTL_MS);

  constructor(
    private readonly pool: Pool,
    private readonly log: EventLog,
    private readonly checkpoints: Checkpoints,
  ) {}

  /** @throws Unavailable, with the progress, until the tables have been filled for the first time */
  async requireComplete(): Promise<void> {
    if (this.isComplete) return;
    const progress = await this.progress();
    if (progress !== undefined)
      throw new Unavailable(`The lists are not complete yet: ${progress}`, RETRY_AFTER_SECONDS);
  }

  private async readProgress(): Promise<string | undefined> {
    try {
      const head = Number(await this.log.forSubscriptions.head());
      this.createdAt ??= (await READ_MIGRATION_TIME.run(this.pool, { migration: MIGRATION }))[0]!.madeAt;
      const { asOf = 0, position = -1 } = (await this.checkpoints.current()).get('register') ?? {};
      this.isComplete = asOf >= this.createdAt;
      if (this.isComplete) return undefined;
      return `${Math.min(99, Math.floor((100 * Math.max(0, position)) / Math.max(1, head)))} % of the log has been read`;
    } catch (error) {
      throw asUnavailable(error);
    }
  }
}

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

const LISTS = declareQueue({
  name: 'record queries',
  maxRunning: 2,
  maxWaiting: 32,
  waitTimeoutMs: 1_000,
});
const FEED = declareQueue({
  name: 'feed requests',
  maxRunning: 2,
  maxWaiting: 96,
  waitTimeoutMs: 4_000,
});

/** A query whose result concurrent requests share. */
interface SharedQuery<Read, Result> {
  readonly organization: string;
  /** Concurrent queries of the organization with the same key share one result. */
  readonly key: string;
  readonly read: AnswerFrom<Read>;
  /** The position of the log that the result must include. */
  readonly minPosition: number | undefined;
  /** Makes the result of what was read, once for all requests that share it, and without a connection. */
  readonly write: (read: Read) => Result | Promise<Result>;
}

/** Runs the queries of lists and of the feed, with limits per organization. */
@Injectable()
export class RecordQueries {
  private readonly concurrency: ConcurrencyLimit;
  private readonly feedConcurrency: ConcurrencyLimit;

  constructor(
    private readonly pool: RecordsPool,
    private readonly backfill: InitialBackfill,
    private readonly replicas: Replicas = NO_REPLICAS,
    slices: TimeSlices = new TimeSlices(),
  ) {
    this.concurrency = new ConcurrencyLimit(LISTS, slices);
    this.feedConcurrency = new ConcurrencyLimit(FEED, slices);
  }

  /**
   * Runs a query of the feed as `run` does, with separate limits, because a change wakes many waiting requests of an
   * organization at once.
   */
  runFeed<Read, Result>(query: SharedQuery<Read, Result>): Promise<Result> {
    return this.runIn(this.feedConcurrency, query);
  }

  /**
   * Waits until the organization may run another query, and then calls `read` and `write`.
   * @throws Unavailable if the database is unavailable, the initial backfill is not complete, or the query takes too
   *   long
   * @throws TooManyRequests if too many queries of the organization are waiting
   */
  run<Read, Result>(query: SharedQuery<Read, Result>): Promise<Result> {
    return this.runIn(this.concurrency, query);
  }

  private async runIn<Read, Result>(
    concurrency: ConcurrencyLimit,
    { organization, key, read, minPosition, write }: SharedQuery<Read, Result>,
  ): Promise<Result> {
    await this.backfill.requireComplete();
    return concurrency.run(organization, key, async () => write(await this.read(read, minPosition)));
  }

  private async read<Read>(read: AnswerFrom<Read>, minPosition: number | undefined): Promise<Read> {
    try {
      const readFrom = (connection: Connection, isReplica: boolean): Promise<Read> =>
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
  }
}
