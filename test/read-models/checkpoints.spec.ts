import { beforeEach, describe, expect, it } from '@jest/globals';
import { Checkpoints, readCheckpoints } from '../../src/read-models/checkpoints.js';
import type { WatchPool } from '../../src/read-models/pools.js';
import { sharedDatabase } from '../support/open-for-tests.js';
import { TestClock } from '../support/test-clock.js';

let clock: TestClock;
let queries: number;
/** The positions by projection. Undefined: the database is unavailable. */
let positions: Record<string, number> | undefined;
let checkpoints: Checkpoints;

beforeEach(() => {
  [clock, queries, positions] = [new TestClock(), 0, { metrics: 5, register: 3 }];
  const query = async () => {
    queries += 1;
    if (positions === undefined) throw new Error('the database is unavailable');
    return { rows: Object.entries(positions).map(([projection, position]) => ({ projection, position, asOf: 0 })) };
  };
  checkpoints = new Checkpoints({ query } as unknown as WatchPool, clock);
});

describe('Waiting for checkpoints', () => {
  it('ends when every named projection has reached the position', async () => {
    const waiting = checkpoints.reached(['metrics', 'register'], 5n, 2_000);
    await clock.advance(100);
    positions = { metrics: 6, register: 4 };
    await clock.advance(100);
    positions = { metrics: 6, register: 5 };
    await clock.advance(20);
    expect(await waiting).toBe(true);
    expect(clock.now()).toBe(220);
  });

  it('ends without success after the timeout, when the signal aborts, and if a projection has no checkpoint', async () => {
    const timedOut = checkpoints.reached(['metrics'], 6n, 50);
    const disconnected = new AbortController();
    const aborted = checkpoints.reached(['metrics'], 6n, 2_000, disconnected.signal);
    const unknown = checkpoints.reached(['webhooks'], 0n, 50);
    disconnected.abort();
    expect(await aborted).toBe(false);
    await clock.advance(60);
    expect(await Promise.all([timedOut, unknown])).toEqual([false, false]);
  });

  it('sends one query per poll for all waiting requests, and no query while no request waits', async () => {
    const waiting = Array.from({ length: 500 }, (_, n) => checkpoints.reached(['metrics'], BigInt(6 + (n % 3)), 1_000));
    await clock.advance(100);
    expect(queries).toBeLessThanOrEqual(11);
    positions = { metrics: 8 };
    await clock.advance(20);
    expect(await Promise.all(waiting)).toEqual(waiting.map(() => true));
    await clock.advance(20);
    const before = queries;
    await clock.advance(500);
    expect(queries).toBe(before);
  });

  it('continues while the database is unavailable', async () => {
    positions = undefined;
    const waiting = checkpoints.reached(['metrics'], 5n, 1_000);
    await clock.advance(300);
    positions = { metrics: 5 };
    await clock.advance(120);
    expect(await waiting).toBe(true);
  });
});

describe('The checkpoints', () => {
  const database = sharedDatabase();

  it('are those of this version, because nothing moves one that version 2.2 has left', async () => {
    await database.pool.query(`
      insert into read.checkpoints (projection, log_id, position, as_of)
      values ('records', 'log', 1, 1), ('register', 'log', 5, 1)`);
    const read = await readCheckpoints(database.pool, 1_000);
    expect([...read].map(([projection, { position }]) => [projection, position])).toEqual([['register', 5]]);
  });
});
