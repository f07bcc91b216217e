import { beforeEach, describe, expect, it } from '@jest/globals';
import { TooManyRequests } from '../../../src/errors.js';
import { type Facts, tally } from '../../../src/ingestion/receive/backlog.js';
import { IngestBackpressure, newHoldBudget, type HoldBudget } from '../../../src/ingestion/receive/backpressure.js';
import type { Checkpoints } from '../../../src/read-models/checkpoints.js';
import { LANE } from '../../../projections/registry.js';
import { Random } from '../../support/random.js';
import { TestClock } from '../../support/test-clock.js';

let clock: TestClock;
/** The checkpoint of the metrics; undefined if the database does not respond. */
let counted: number | undefined;
/** Before when the counts have everything, as the checkpoint says. */
let asOf: number;
/** Whether a projector holds the lease of the lane. */
let isLeased: boolean;
/** The position of the last stored event. */
let head: number;
let pace: IngestBackpressure;

beforeEach(() => {
  [clock, counted, asOf, isLeased, head] = [new TestClock(), 0, 0, false, 0];
  const current = async () => {
    if (counted === undefined) throw new Error('the database is unavailable');
    return new Map([['metrics', { projection: 'metrics', position: counted, asOf }]]);
  };
  const isProjecting = async (lane: string) => {
    if (counted === undefined) throw new Error('the database is unavailable');
    return isLeased && lane === LANE;
  };
  pace = new IngestBackpressure({ current, isProjecting } as unknown as Checkpoints, clock);
});

const big = new Map([['big', 2_000]]);
const small = new Map([['small', 1]]);

const impatient = (): HoldBudget => ({ counting: 0, total: 0 });

const store = async (facts: Facts): Promise<void> => {
  await pace.admit(facts);
  pace.stored(facts, BigInt((head += 1)));
};

/** Returns the state of a promise after `ms` ms. */
const stateAfter = async (ms: number, pending: Promise<unknown>): Promise<'settled' | 'held'> => {
  let isSettled = false;
  const settle = (): void => void (isSettled = true);
  pending.then(settle, settle);
  await clock.advance(ms);
  return isSettled ? 'settled' : 'held';
};

const report = (brands: number, organization = 'big') => ({
  event: {
    id: 'any',
    type: 'ReportFiled',
    data: { organization, brands: Array.from({ length: brands }, (_, n) => `b-${n}`) },
  },
});

describe('The backpressure', () => {
  it('admits every request while the projector keeps up', async () => {
    for (let round = 0; round < 20; round += 1) {
      await store(big);
      counted = head;
      await clock.advance(20);
    }
  });

  it('rejects only requests of the organization that would delay the others', async () => {
    await store(big);
    await store(small);
    const refused = pace.admit(big);
    // The checkpoint moves, so the projector is running, but it has not reached the stored events.
    const refusal = expect(refused).rejects.toThrow(TooManyRequests);
    for (let n = 0; n < 5; n += 1) {
      counted! -= 1;
      await clock.advance(500);
    }
    await refusal;
    await pace.admit(small);
    await pace.admit(new Map([['third', 1_000]]));
    await pace.admit(new Map([...small, ['fourth', 2], ['big', 1]]));
  });

  it('holds a request until the checkpoint has passed the earlier events of its organization', async () => {
    await store(big);
    const admitted = pace.admit(big);
    expect(await stateAfter(300, admitted)).toBe('held');
    counted = head;
    expect(await stateAfter(30, admitted)).toBe('settled');
    await admitted;
  });

  it('counts events that were stored in another order than their positions', async () => {
    await pace.admit(new Map([['big', 1_000]]));
    await pace.admit(new Map([['big', 500]]));
    pace.stored(new Map([['big', 500]]), 9n);
    pace.stored(new Map([['big', 1_000]]), 5n);
    counted = 5;
    await clock.advance(20);
    // Only the 500 facts at position 9 are still uncounted.
    await pace.admit(new Map([['big', 1_000]]), impatient());
  });

  it('does not count events that the log already had as waiting', async () => {
    counted = 10;
    await pace.admit(big);
    pace.stored(big, 3n);
    await clock.advance(20);
    await pace.admit(big, impatient());
  });

  it('remembers the backlog of a projector that is slow but still holds its lease', async () => {
    isLeased = true;
    await store(big);
    await clock.advance(60_000, 1_000);
    await expect(pace.admit(big, impatient())).rejects.toThrow(TooManyRequests);
    await pace.admit(small, impatient());
    isLeased = false;
    await clock.advance(20);
    await pace.admit(big, impatient());
  });

  it('forgets events that a failover has lost once the projector has read the log to its end without them', async () => {
    isLeased = true;
    await store(big);
    await clock.advance(60_000, 1_000);
    await expect(pace.admit(big, impatient())).rejects.toThrow(TooManyRequests);
    // The projector is idle, and says so once a second.
    asOf += 1_000;
    await clock.advance(20);
    await pace.admit(big, impatient());
    pace.stored(big, BigInt((head += 1)));
    // What was stored a moment ago may still be counted.
    asOf += 1_000;
    await clock.advance(20);
    await expect(pace.admit(big, impatient())).rejects.toThrow(TooManyRequests);
  });

  it('holds no request if the projector has stopped', async () => {
    await store(big);
    await clock.advance(2_100);
    await pace.admit(big, impatient());
  });

  it('still holds a burst that follows a long pause', async () => {
    counted = head;
    await clock.advance(60_000, 10_000);
    await store(big);
    expect(await stateAfter(300, pace.admit(big))).toBe('held');
  });

  it('does not assume that events are counted if the database does not respond', async () => {
    await store(big);
    counted = undefined;
    await expect(pace.admit(big, impatient())).rejects.toThrow(TooManyRequests);
    // After 2 s without a response, the database looks like a projector that has stopped.
    await clock.advance(2_100);
    await pace.admit(big, impatient());
  });

  it('does not wait for a database that hangs', async () => {
    const silentCheckpoints = { current: () => new Promise(() => {}) } as unknown as Checkpoints;
    const withSilentDatabase = new IngestBackpressure(silentCheckpoints, clock);
    await withSilentDatabase.admit(big);
    withSilentDatabase.stored(big, 1n);
    await withSilentDatabase.admit(small);
  });

  it('weighs events by the number of their facts', () => {
    expect(tally([report(50), report(0), report(50, 'small')])).toEqual(
      new Map([
        ['big', 190],
        ['small', 189],
      ]),
    );
  });

  it('weighs events by their size: each started KiB after the first is one more fact', () => {
    const threat = (content: string) => ({
      event: { id: 'any', type: 'ThreatStatusChanged', data: { organization: 'big', asset: { type: 'URL', content } } },
    });
    const large = threat('😀'.repeat(4_096));
    expect(tally([threat('a.example')])).toEqual(new Map([['big', 1]]));
    expect(tally([large])).toEqual(new Map([['big', 17]]));
    expect(pace.portion(Array.from({ length: 1_000 }, () => large))).toHaveLength(44);
  });

  it('splits a request with many facts into appends of at least one event', () => {
    expect(pace.portion(Array.from({ length: 1_000 }, () => report(0)))).toHaveLength(750);
    expect(pace.portion(Array.from({ length: 1_000 }, () => report(50))).length).toBe(3);
    expect(pace.portion([report(50_000), report(0)])).toHaveLength(1);
  });

  it('rejects requests of an organization whose backlog of facts exceeds the limit', async () => {
    const burst = new Map([['big', 750]]);
    await store(burst);
    await store(burst);
    await expect(pace.admit(burst, impatient())).rejects.toThrow(TooManyRequests);
    await pace.admit(small, impatient());
    counted = head;
    await clock.advance(20);
    await pace.admit(burst, impatient());
  });
});

describe('A log that is slower than the projector', () => {
  it('holds a request until the previous request is stored, without charging the time to the projector', async () => {
    await pace.admit(big);
    const budget = newHoldBudget();
    const second = pace.admit(big, budget);
    expect(await stateAfter(500, second)).toBe('held');
    expect(budget.total).toBeLessThan(newHoldBudget().total);
    expect(budget.counting).toBe(newHoldBudget().counting);
    pace.stored(big, 1n);
    counted = 1;
    expect(await stateAfter(40, second)).toBe('settled');
  });

  it('does not hold a request longer than its total budget', async () => {
    await pace.admit(big);
    const budget = { counting: 1_000, total: 100 };
    const refused = expect(pace.admit(big, budget)).rejects.toThrow('Too many events are being stored');
    await clock.advance(200);
    await refused;
    expect(budget.counting).toBe(1_000);
  });

  it('reduces the budget of a request only by the time it was held', async () => {
    const budget = newHoldBudget();
    await pace.admit(big, budget);
    await clock.advance(300);
    pace.stored(big, 1n);
    expect(budget).toEqual(newHoldBudget());
    const next = pace.admit(big, budget);
    expect(await stateAfter(300, next)).toBe('held');
    counted = 1;
    expect(await stateAfter(40, next)).toBe('settled');
    expect(budget.counting).toBeLessThan(newHoldBudget().counting);
  });
});

describe('Requests that are held', () => {
  const endless = (): HoldBudget => ({ counting: Infinity, total: Infinity });
  const hold = (organization: string, requests: number): Promise<unknown> =>
    Promise.allSettled(Array.from({ length: requests }, () => pace.admit(new Map([[organization, 1]]))));

  it('are at most 64 per organization', async () => {
    await store(big);
    await store(new Map([['other', 2_000]]));
    const held = hold('big', 64);
    await expect(pace.admit(new Map([['big', 1]]), endless())).rejects.toThrow(TooManyRequests);
    const other = pace.admit(new Map([['other', 2_000]]), endless());
    expect(await stateAfter(40, other)).toBe('held');
    counted = head;
    await clock.advance(20_000, 100);
    await held;
  });

  it('are at most 256 in total', async () => {
    const others = ['a', 'b', 'c', 'd', 'e'];
    for (const organization of others) await store(new Map([[organization, 2_000]]));
    const held = others.slice(0, 4).map((organization) => hold(organization, 64));
    await expect(pace.admit(new Map([['e', 1]]), endless())).rejects.toThrow(TooManyRequests);
    await clock.advance(20_000, 100);
    await Promise.all(held);
  });

  it('have at most the facts that the projector counts in their time, but the first may have any number', async () => {
    await store(big);
    await store(new Map([['other', 2_000]]));
    const first = pace.admit(new Map([['big', 20_000]]), endless());
    expect(await stateAfter(40, first)).toBe('held');
    await expect(pace.admit(new Map([['big', 1]]), endless())).rejects.toThrow(TooManyRequests);
    const [fits, isBeyond] = [5_000, 1_251];
    const others = [fits, fits].map((facts) => pace.admit(new Map([['other', facts]]), endless()));
    await expect(pace.admit(new Map([['other', isBeyond]]), endless())).rejects.toThrow(TooManyRequests);
    counted = head;
    await clock.advance(20_000, 100);
    await Promise.all([first, ...others]);
  });

  it('are not rejected for the sake of others once they are stored in part', async () => {
    await store(big);
    const first = pace.admit(new Map([['big', 20_000]]), endless());
    const second = pace.admit(new Map([['big', 1]]), { ...endless(), isStoredInPart: true });
    expect(await stateAfter(40, second)).toBe('held');
    counted = head;
    await clock.advance(40);
    await first;
    pace.release(new Map([['big', 20_000]]));
    await clock.advance(40);
    await second;
  });

  it('are admitted in the order of their arrival, and are not overtaken by a smaller request', async () => {
    await store(new Map([['big', 1_000]]));
    const order: string[] = [];
    const admit = (name: string, facts: number): void =>
      void pace.admit(new Map([['big', facts]])).then(() => order.push(name));
    admit('first', 750);
    await clock.advance(10);
    admit('second', 200);
    // The second request would fit, but the first request has waited longer.
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(order).toEqual([]);
    counted = head;
    await clock.advance(40);
    expect(order).toEqual(['first', 'second']);
  });
});

describe.each([
  [4, 7.5],
  [16, 7.5],
  [64, 7.5],
  [16, 2.5],
  [64, 2.5],
  [64, 1],
  [64, 15],
])('%i connections of one organization that sends at full rate to a projector of %d facts/ms', (connections, rate) => {
  const BATCH = Array.from({ length: 1_000 }, () => report(0));

  it('never have more facts waiting than are counted in 200 ms, once the rate is known, and leave it no idle time', async () => {
    let [position, waiting, most, stored, storedInPart] = [0, 0, 0, 0, 0];
    const queue: { readonly position: number; left: number }[] = [];
    const isRunning = new AbortController();
    const append = async (budget: HoldBudget, unsent: typeof BATCH): Promise<void> => {
      const portion = pace.portion(unsent);
      const facts = new Map([['big', portion.length]]);
      await pace.admit(facts, budget, unsent.length).catch((error: unknown) => {
        if (unsent.length < BATCH.length) storedInPart += 1;
        throw error;
      });
      waiting += portion.length;
      most = Math.max(most, waiting);
      await clock.sleep(20);
      queue.push({ position: (position += 1), left: portion.length });
      pace.stored(facts, BigInt(position));
      stored += portion.length;
      budget.isStoredInPart = true;
      if (portion.length < unsent.length) await append(budget, unsent.slice(portion.length));
    };
    const project = (ms: number): void => {
      for (let left = ms * rate; left > 0 && queue[0] !== undefined;) {
        const done = Math.min(left, queue[0].left);
        [left, waiting] = [left - done, waiting - done];
        if ((queue[0].left -= done) === 0) counted = queue.shift()!.position;
      }
    };
    const send = async (): Promise<void> => {
      while (!isRunning.signal.aborted) {
        const budget = newHoldBudget();
        await append(budget, BATCH).catch(() => clock.sleep(1_000));
      }
    };
    const senders = Array.from({ length: connections }, send);
    for (let elapsed = 0; elapsed < 15_000; elapsed += 10) {
      if (elapsed === 10_000) [most, stored] = [0, 0];
      project(10);
      await clock.advance(10);
    }
    isRunning.abort();
    // The rate is measured with an error of a few percent.
    expect(most).toBeLessThanOrEqual(Math.max(300, 1.1 * 200 * rate));
    expect(stored).toBeGreaterThan(0.7 * 5_000 * rate);
    // A request that is rejected after a part of it was stored would report duplicates when it is sent again.
    expect(storedInPart).toBe(0);
    for (let elapsed = 0; elapsed < 12_000; elapsed += 100) {
      project(100);
      await clock.advance(100, 100);
    }
    await Promise.all(senders);
  });
});

it('Batches of many organizations are never rejected after a part of them was stored', async () => {
  const RATE = 2.5;
  const random = new Random(1);
  let [position, rejectedInPart, stored] = [0, 0, 0];
  const queue: { readonly position: number; left: number }[] = [];
  const isRunning = new AbortController();
  const batch = () => Array.from({ length: 1_000 }, () => report(0, `o-${Math.floor(20 * random.next() ** 2)}`));
  const send = async (): Promise<void> => {
    while (!isRunning.signal.aborted) {
      const [budget, events] = [newHoldBudget(), batch()];
      for (let sent = 0; sent < events.length;) {
        const portion = pace.portion(events.slice(sent));
        try {
          await pace.admit(tally(portion), budget, events.length - sent);
        } catch {
          if (sent > 0) rejectedInPart += 1;
          await clock.sleep(1_000);
          break;
        }
        await clock.sleep(20);
        queue.push({ position: (position += 1), left: portion.length });
        pace.stored(tally(portion), BigInt(position));
        [sent, stored] = [sent + portion.length, stored + portion.length];
        budget.isStoredInPart = true;
      }
    }
  };
  const senders = Array.from({ length: 8 }, send);
  const run = async (ms: number): Promise<void> => {
    for (let elapsed = 0; elapsed < ms; elapsed += 10) {
      for (let left = 10 * RATE; left > 0 && queue[0] !== undefined;) {
        const done = Math.min(left, queue[0].left);
        left -= done;
        if ((queue[0].left -= done) === 0) counted = queue.shift()!.position;
      }
      await clock.advance(10);
    }
  };
  await run(30_000);
  isRunning.abort();
  await run(12_000);
  await Promise.all(senders);
  expect(stored).toBeGreaterThan(0.7 * 30_000 * RATE);
  expect(rejectedInPart).toBe(0);
});

it('no longer counts facts as waiting once they are released without having been stored', async () => {
  for (let round = 0; round < 20; round += 1) {
    await pace.admit(big, impatient());
    pace.release(big);
  }
});
