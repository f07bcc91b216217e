import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EventLog } from '../../src/event-log/event-log.js';
import { TooManyRequests } from '../../src/errors.js';
import { type Facts, tally } from '../../src/ingestion/fact-counts.js';
import { IngestBackpressure, newPatience, type Patience } from '../../src/ingestion/backpressure.js';
import { createPool } from '../../src/postgres/pool.js';
import { gateBefore } from '../support/gate.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

/** The projector, as far as the endpoint can see it: how far it says it has counted. */
const countedUpTo = (asOf: number, position = 0): Promise<unknown> =>
  database.pool.query(
    `insert into read.checkpoints (projection, log_id, position, as_of) values ('metrics', 'log', $2, $1)
     on conflict (projection) do update set as_of = $1, position = $2`,
    [asOf, position],
  );

/** A log of which only the end is asked. */
const logWith = (head: () => Promise<bigint>): EventLog => ({ head }) as EventLog;
const atItsBeginning = logWith(() => Promise.resolve(1n));

/** Counts on, a little every 100 ms, always this far behind. */
const counting = async (behindMs: number): Promise<() => Promise<void>> => {
  const stop = new AbortController();
  const run = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await countedUpTo(Date.now() - behindMs);
      await sleep(100);
    }
  };
  const running = run();
  await sleep(150);
  return () => (stop.abort(), running);
};

const big = new Map([['big', 2_000]]);
const small = new Map([['small', 1]]);

const impatient = (): Patience => ({ counting: 0, total: 0 });

let pace: IngestBackpressure;
const store = async (facts: Facts, by = pace): Promise<void> => {
  await by.admit(facts);
  by.stored(facts);
};

beforeEach(async () => {
  await countedUpTo(0);
  pace = new IngestBackpressure(database.pool, atItsBeginning);
});

it('lets everybody in while everything is counted in time', async () => {
  const stop = await counting(0);
  for (let round = 0; round < 20; round += 1) {
    await store(big);
    await sleep(20);
  }
  await stop();
});

it('refuses the one that the others would wait for, and no other', async () => {
  const stop = await counting(60_000);
  await store(big);
  await store(small);
  await sleep(300);
  await expect(pace.admit(big)).rejects.toThrow(TooManyRequests);
  await pace.admit(small);
  await pace.admit(new Map([['third', 1_000]]));
  await pace.admit(new Map([...small, ['fourth', 2], ['big', 1]]));
  await stop();
});

it('goes by the position while the instant stands still, as it does under a new leader', async () => {
  let end = 1_000n;
  const standing = Date.now() - 60_000;
  await countedUpTo(standing, 1);
  const led = new IngestBackpressure(
    database.pool,
    logWith(() => Promise.resolve(end)),
  );
  await store(big, led);
  await sleep(300);
  // Behind the end: held, though the position moves.
  await countedUpTo(standing, 2);
  const admitted = led.admit(big);
  await countedUpTo(standing, 3);
  expect(await Promise.race([admitted.then(() => 'admitted'), sleep(400, 'held')])).toBe('held');
  await countedUpTo(standing, 1_000);
  await admitted;
  led.stored(big);
  // What is stored after the end was asked for is not counted by it.
  end = 2_000n;
  await countedUpTo(standing, 1_001);
  const next = led.admit(big);
  expect(await Promise.race([next.then(() => 'admitted'), sleep(400, 'held')])).toBe('held');
  await countedUpTo(standing, 2_000);
  await next;
});

it('waits for no log that does not answer', async () => {
  const stop = await counting(60_000);
  const silent = new IngestBackpressure(
    database.pool,
    logWith(() => Promise.reject(new Error('away'))),
  );
  await store(big, silent);
  await sleep(300);
  await expect(silent.admit(big)).rejects.toThrow(TooManyRequests);
  await stop();
});

it('holds it only until what it sent has been counted', async () => {
  const stop = await counting(60_000);
  await store(big);
  await sleep(300);
  const admitted = pace.admit(big);
  const first = await Promise.race([admitted.then(() => 'admitted'), sleep(300, 'held')]);
  expect(first).toBe('held');
  await stop();
  await countedUpTo(Date.now());
  await admitted;
});

it('holds no request if the projector stands still: the log accepts everything', async () => {
  await countedUpTo(Date.now() - 60_000);
  await store(big);
  await sleep(200);
  await store(big).catch(() => {});
  await sleep(2_100);
  await pace.admit(big);
});

it('holds no request if the database does not say how far the projector is', async () => {
  const away = await createDatabase();
  const blind = new IngestBackpressure(away.pool, atItsBeginning);
  await store(big, blind);
  await away.drop();
  await sleep(300);
  await blind.admit(big);
});

it('waits for no database that is silent', async () => {
  const { gate, url } = await gateBefore(database.url);
  const pool = createPool(url, () => {});
  const patient = new IngestBackpressure(pool, atItsBeginning);
  await pool.query('select 1');
  await store(big, patient);
  await sleep(300);
  gate.silence();
  const begin = Date.now();
  await patient.admit(small);
  expect(Date.now() - begin).toBeLessThan(2_500);
  await gate.close();
  await pool.end();
});

const report = (brands: number, organization = 'big') => ({
  event: {
    id: 'any',
    type: 'ReportFiled',
    data: { organization, brands: Array.from({ length: brands }, (_, n) => `b-${n}`) },
  },
});

it('weighs events by the facts they are', () => {
  expect(tally([report(50), report(0), report(50, 'small')])).toEqual(
    new Map([
      ['big', 52],
      ['small', 51],
    ]),
  );
});

it('lets a request of many facts be stored in steps, and never in none', () => {
  expect(pace.portion(Array.from({ length: 1_000 }, () => report(0)))).toHaveLength(1_000);
  expect(pace.portion(Array.from({ length: 1_000 }, () => report(50))).length).toBeLessThan(40);
  expect(pace.portion([report(50_000), report(0)])).toHaveLength(1);
});

it('holds requests of an organization with more facts waiting than are counted in a moment', async () => {
  await countedUpTo(Date.now());
  const burst = new Map([['big', 1_000]]);
  await store(burst);
  await store(burst);
  await expect(pace.admit(burst, impatient())).rejects.toThrow(TooManyRequests);
  await pace.admit(small, impatient());
  await countedUpTo(Date.now() + 1);
  await pace.admit(burst);
});

describe('A log that is slower than the projector', () => {
  it('holds a request until the one before it is stored, and never for being counted late', async () => {
    const stop = await counting(0);
    await pace.admit(big);
    const patience = newPatience();
    const second = pace.admit(big, patience);
    expect(await Promise.race([second, sleep(500, 'held')])).toBe('held');
    expect(patience.total).toBeLessThan(newPatience().total);
    expect(patience.counting).toBe(newPatience().counting);
    pace.stored(big);
    await second;
    await stop();
  });

  it('does not hold bodies in memory for ever', async () => {
    await pace.admit(big);
    const patience = { counting: 1_000, total: 100 };
    await expect(pace.admit(big, patience)).rejects.toThrow('Too many events are being stored');
    expect(patience.counting).toBe(1_000);
  });

  it('uses up the patience of a request with its waits alone', async () => {
    const patience = newPatience();
    await countedUpTo(Date.now());
    await pace.admit(big, patience);
    await sleep(300);
    pace.stored(big);
    expect(patience).toEqual(newPatience());
    const next = pace.admit(big, patience);
    await sleep(300);
    await countedUpTo(Date.now());
    await next;
    expect(patience.counting).toBeLessThan(newPatience().counting);
  });
});

it('refuses at once whom it cannot hold beside 64 others', async () => {
  const stop = await counting(60_000);
  await store(big);
  await sleep(300);
  const held = Promise.allSettled(Array.from({ length: 64 }, () => pace.admit(big)));
  const endless = { counting: Infinity, total: Infinity };
  await expect(pace.admit(big, endless)).rejects.toThrow(TooManyRequests);
  await held;
  await stop();
});

it('takes facts that were not stored for no longer waiting', async () => {
  const facts = new Map([['big', 2_000]]);
  await countedUpTo(Date.now());
  for (let round = 0; round < 20; round += 1) {
    await pace.admit(facts, impatient());
    pace.release(facts);
  }
});
