import { Injectable } from '@nestjs/common';
import { Unavailable } from '../../errors.js';
import { Semaphore } from '../../flow/concurrency-limit.js';
import { limit } from '../../limits.js';
import { WatchPool } from '../../read-models/pools.js';

/** Requests must leave a connection of the pool to what follows the lists, and to health checks. */
const AT_ONCE = limit('queries for names of lists', 1, 'queries at a time', 'process', 'waits');
/** Each takes some milliseconds. The rate limit is one of each address, and the key of these lists may be public. */
const MAX_WAITING = limit('queries for names of lists', 200, 'waiting queries', 'process', '503');
const RETRY_AFTER_SECONDS = 2;

/** Runs the queries of requests for names. On the primary, because a name is stored before the version that has it. */
@Injectable()
export class NameReads {
  private readonly turns = new Semaphore(AT_ONCE);

  constructor(private readonly pool: WatchPool) {}

  /**
   * @param isShared whether many requests wait for the result, so that the query waits however many others do
   * @throws Unavailable if too many queries are waiting; the database's error
   */
  async run<Values, Row>(
    statement: { run(pool: WatchPool, values: Values): Promise<Row[]> },
    values: Values,
    { isShared = false }: { readonly isShared?: boolean } = {},
  ): Promise<Row[]> {
    if (!isShared && this.turns.queued >= MAX_WAITING)
      throw new Unavailable('Too many requests for names of lists are waiting; try again', RETRY_AFTER_SECONDS);
    const turn = this.turns.acquire();
    if (turn !== undefined) await turn;
    try {
      return await statement.run(this.pool, values);
    } finally {
      this.turns.release();
    }
  }
}
