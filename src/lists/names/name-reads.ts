import { Injectable } from '@nestjs/common';
import { Semaphore } from '../../flow/concurrency-limit.js';
import { limit } from '../../limits.js';
import { WatchPool } from '../../read-models/pools.js';

/** Requests must leave a connection of the pool to what follows the lists, and to health checks. */
const AT_ONCE = limit('queries for names of lists', 1, 'queries at a time', 'process', 'waits');

/** Runs the queries of requests for names. On the primary, because a name is stored before the version that has it. */
@Injectable()
export class NameReads {
  private readonly turns = new Semaphore(AT_ONCE);

  constructor(private readonly pool: WatchPool) {}

  /** @throws the database's error */
  async run<Values, Row>(
    statement: { run(pool: WatchPool, values: Values): Promise<Row[]> },
    values: Values,
  ): Promise<Row[]> {
    const turn = this.turns.acquire();
    if (turn !== undefined) await turn;
    try {
      return await statement.run(this.pool, values);
    } finally {
      this.turns.release();
    }
  }
}
