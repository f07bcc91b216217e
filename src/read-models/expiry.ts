import type { Pool } from 'pg';
import { randomUUID } from 'node:crypto';
import { type BeforeApplicationShutdown, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Gauge, Registry } from 'prom-client';
import { pause } from '../flow/time.js';
import { nullable, statement } from '../postgres/statement.js';
import { inTransaction } from '../postgres/transaction.js';
import { isStatementTimeout } from '../postgres/transient-errors.js';
import { INDEX_ORDER_SETTINGS, WatchPool } from './pools.js';
import { reportFailures, type FailureReport } from '../flow/background.js';
import { ACQUIRE_LEASE, RELEASE_LEASE } from './lease.js';

/** Rows per statement. A statement takes milliseconds. */
const ROWS_PER_BATCH = 1_000;
/** The longest statement, in ms. After a longer one, the next batch has a tenth of the rows. */
const BATCH_LIMIT_MS = 2_000;
const COUNT_LIMIT_MS = 2_000;
/** Expired rows are counted up to this number. */
const MAX_COUNTED = 10_000;

const SETTINGS = Object.entries({ ...INDEX_ORDER_SETTINGS, statement_timeout: String(BATCH_LIMIT_MS) })
  .map(([name, value]) => `set local ${name} = ${value}`)
  .join('; ');

interface Declaration<Name extends string> {
  /** The plural noun for the rows, which is also the label of the metrics. */
  readonly name: Name;
  readonly table: string;
  /** Joins what decides whether a row `t` has expired: at most one row for each, found by an index. */
  readonly join?: string;
  /**
   * Whether a row `t` has expired, in SQL. Without `walk`, an index finds these rows: the clock is in a subquery, because
   * no index is used for a comparison with a volatile function.
   */
  readonly where: string;
  /**
   * The columns of a unique index, with their types and a value before the first. The table is then walked in the order
   * of this index, because no index finds the expired rows.
   */
  readonly walk?: Readonly<Record<string, readonly [type: string, first: string]>>;
}

/** Declares rows that expire, whichever organization they belong to. */
export const expiringRows = <const Name extends string>({ name, table, join = '', where, walk }: Declaration<Name>) => {
  const columns = Object.entries(walk ?? {});
  const named = columns.map(([column]) => `t.${column}`).join(', ');
  const page =
    walk === undefined
      ? `select t.ctid as id, true as expired, null::text[] as place, row_number() over () as nth
        from ${table} t ${join} where ${where} limit :limit`
      : `select *, row_number() over () as nth from (
        select t.ctid as id, coalesce(${where}, false) as expired, array[${columns.map(([column]) => `t.${column}::text`).join(', ')}] as place
        from ${table} t ${join}
        where (${named}) > (${columns.map(([, [type]], n) => `(:after)[${n + 1}]::${type}`).join(', ')})
        order by ${named} limit :limit
      ) walked`;
  const after = walk === undefined ? ':after is not null' : 'true';
  return {
    name,
    first: columns.map(([, [, first]]) => first),
    erase: statement(
      `expiry-erase-${name.replaceAll(' ', '-')}`,
      { limit: 'bigint', after: 'text[]' },
      { examined: 'bigint', deleted: 'bigint', last: nullable('text[]') },
      `
        with page as materialized (${page}), deleted as (
          delete from ${table} where ${after} and ctid = any(array(select id from page where expired)) returning 1
        )
        select (select count(*) from page) as examined, (select count(*) from deleted) as deleted,
          (select place from page order by nth desc limit 1) as last`,
    ),
    count: statement(
      `expiry-count-${name.replaceAll(' ', '-')}`,
      {},
      { rows: 'bigint' },
      `select count(*) as rows from (select from ${table} t ${join} where ${where} limit ${MAX_COUNTED}) expired`,
    ),
  };
};

export type ExpiringRows = ReturnType<typeof expiringRows>;

/** What one pass over expiring rows has done. */
interface Pass {
  readonly deleted: number;
  /** Where the next pass continues; undefined if this pass has examined everything. */
  readonly next: readonly string[] | undefined;
}

/**
 * Deletes expired rows in small transactions, until all are deleted or the time is over. A pause after each transaction
 * leaves half of the time to the requests.
 * @param budgetMs the pass ends after the first transaction that exceeds this time
 * @param from where the previous pass ended
 * @throws the database's error; the rows of earlier batches have been deleted
 */
export const deleteExpired = async (
  pool: Pool,
  { first, erase }: ExpiringRows,
  budgetMs: number,
  from: readonly string[] = first,
  signal?: AbortSignal,
): Promise<Pass> => {
  const until = performance.now() + budgetMs;
  let limit = ROWS_PER_BATCH;
  let after = from;
  let deleted = 0;
  for (;;) {
    const startedAt = performance.now();
    try {
      const [batch] = await inTransaction(
        pool,
        (connection) => erase.run(connection, { limit, after }),
        `begin; ${SETTINGS}`,
      );
      deleted += batch!.deleted;
      if (batch!.examined < limit) return { deleted, next: undefined };
      after = batch!.last ?? after;
      limit = Math.min(ROWS_PER_BATCH, limit * 2);
    } catch (error) {
      if (!isStatementTimeout(error) || limit === 1) throw error;
      limit = Math.ceil(limit / 10);
    }
    if (performance.now() >= until || signal?.aborted === true) return { deleted, next: after };
    await pause(performance.now() - startedAt, signal);
  }
};

/**
 * Counts expired rows, to at most 10,000.
 * @throws the database's error
 */
export const countExpired = async (pool: Pool, { count }: ExpiringRows): Promise<number> =>
  (await count.run(pool, {}, COUNT_LIMIT_MS))[0]!.rows;

/** The time between the ends of two rounds, in ms. */
const INTERVAL_MS = 600_000;
/** The time between two rounds while expired rows are left, in ms. */
const UNFINISHED_INTERVAL_MS = 5_000;
/** The time that one kind of rows may take in a round, in ms. The other kinds wait for it. */
const BUDGET_MS = 20_000;
/** The lane of the process that deletes. Other processes look every minute whether it has ended. */
const LANE = 'expiry';
/** How long the lease of the lane is valid, in ms: longer than a round and the time until the next one. */
const LEASE_TTL_MS = 900_000;
const STANDBY_INTERVAL_MS = 60_000;
/** How long a count is exported, in ms. */
const COUNTED_FOR_MS = 60_000;

interface Kind {
  readonly rows: ExpiringRows;
  readonly report: FailureReport;
  /** Where the next pass begins; undefined: at the beginning. */
  next: readonly string[] | undefined;
  /** When this process last had no expired rows left, or became the process that deletes (monotonic, ms). */
  completeAt: number;
  left: number | undefined;
}

/**
 * Deletes the rows of all organizations that have expired, in batches, in one process of the installation. Modules
 * register their rows. Each kind of rows has its own statements, time and metrics, so that no kind keeps the rows of
 * another from being deleted.
 */
@Injectable()
export class Expiry implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly kinds: Kind[] = [];
  private readonly stop = new AbortController();
  private running: Promise<void> = Promise.resolve();
  private countedAt = -Infinity;
  private readonly owner = randomUUID();
  private isElected = false;
  private readonly election: FailureReport;

  constructor(
    private readonly pool: WatchPool,
    private readonly registry: Registry = new Registry(),
  ) {
    this.election = reportFailures('elect the process that deletes expired rows', registry);
    const { kinds } = this;
    const count = (): Promise<void> => this.count();
    const isElected = (): boolean => this.isElected;
    const registers = [registry];
    new Gauge({
      name: 'threat_protection_expired_rows',
      help: 'Rows that have expired and are not deleted yet, counted up to 10,000, at most once a minute',
      labelNames: ['rows'],
      registers,
      async collect() {
        await count();
        this.reset();
        for (const { rows, left } of kinds) if (left !== undefined) this.set({ rows: rows.name }, left);
      },
    });
    new Gauge({
      name: 'threat_protection_expiry_age_seconds',
      help: 'Seconds since all expired rows were last deleted, in the process that deletes them',
      labelNames: ['rows'],
      registers,
      collect() {
        this.reset();
        if (!isElected()) return;
        for (const { rows, completeAt } of kinds)
          this.set({ rows: rows.name }, Math.floor((performance.now() - completeAt) / 1_000));
      },
    });
  }

  register(...kinds: readonly ExpiringRows[]): void {
    for (const rows of kinds)
      this.kinds.push({
        rows,
        report: reportFailures(`delete expired ${rows.name}`, this.registry),
        next: undefined,
        completeAt: performance.now(),
        left: undefined,
      });
  }

  onApplicationBootstrap(): void {
    this.running = this.repeat();
  }

  /**
   * Gives each kind of rows its time once, unless another process deletes.
   * @returns how long to wait until the next round, in ms
   */
  async round(): Promise<number> {
    if (!(await this.elect())) return STANDBY_INTERVAL_MS;
    let isComplete = true;
    for (const kind of this.kinds) {
      if (this.stop.signal.aborted) break;
      try {
        const { next } = await deleteExpired(this.pool, kind.rows, BUDGET_MS, kind.next, this.stop.signal);
        kind.next = next;
        if (next === undefined) kind.completeAt = performance.now();
        else isComplete = false;
      } catch (error) {
        kind.report.failed(error);
        isComplete = false;
      }
    }
    return isComplete ? INTERVAL_MS : UNFINISHED_INTERVAL_MS;
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stop.abort();
    await this.running;
    if (this.isElected) await RELEASE_LEASE.run(this.pool, { lane: LANE, owner: this.owner }).catch(() => {});
  }

  private async repeat(): Promise<void> {
    const { signal } = this.stop;
    while (!signal.aborted) await pause(await this.round(), signal);
  }

  /** Acquires or renews the lease. Two processes that both delete for a while only repeat work. */
  private async elect(): Promise<boolean> {
    const { owner, isElected } = this;
    try {
      const [lease] = await ACQUIRE_LEASE.run(this.pool, { lane: LANE, owner, ttlMs: LEASE_TTL_MS });
      this.isElected = lease!.isHeld;
    } catch (error) {
      this.election.failed(error);
      return false;
    }
    if (!isElected) for (const kind of this.kinds) kind.completeAt = performance.now();
    return this.isElected;
  }

  /** A count that fails is not exported; the age still shows that rows are left. */
  private async count(): Promise<void> {
    if (performance.now() - this.countedAt < COUNTED_FOR_MS) return;
    this.countedAt = performance.now();
    for (const kind of this.kinds) kind.left = await countExpired(this.pool, kind.rows).catch(() => undefined);
  }
}
