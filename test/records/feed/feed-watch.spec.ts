import { beforeEach, describe, expect, it } from '@jest/globals';
import { TooManyRequests, Unavailable } from '../../../src/errors.js';
import { WaitingRequests } from '../../../src/flow/concurrency-limit.js';
import type { Checkpoints } from '../../../src/read-models/checkpoints.js';
import { Readiness } from '../../../src/ops/readiness.js';
import type { WatchPool } from '../../../src/read-models/pools.js';
import { FeedWatch, type Outcome } from '../../../src/records/feed/feed-watch.js';
import { textsIn } from '../../support/binary-array.js';
import { TestClock } from '../../support/test-clock.js';

/** The position of the read models, and how often they were queried. */
let looks = 0;
let polls = 0;
let upTo = 10;
/** The organizations that have new elements. */
let changedOrganizations: readonly string[] = [];
let fails = false;
let watch: FeedWatch;
let clock: TestClock;
let readiness: Readiness;

const query = async ({ values }: { values: unknown[] }) => {
  looks += 1;
  if (fails) throw new Error('the database is away');
  const organizations = textsIn(values[0]);
  const found = organizations.flatMap((organization, index) =>
    changedOrganizations.includes(organization) ? [index + 1] : [],
  );
  return { rows: [{ asOf: 1_000 + looks, upTo, news: found }] };
};

beforeEach(() => {
  [looks, polls, upTo, changedOrganizations, fails] = [0, 0, 10, [], false];
  readiness = new Readiness();
  clock = new TestClock();
  const pool = { query } as unknown as WatchPool;
  const current = async () => {
    if (fails) throw new Error('the database is unavailable');
    polls += 1;
    return new Map([['register', { projection: 'register', position: upTo, asOf: 1_000 + polls }]]);
  };
  const checkpoints = { current } as unknown as Checkpoints;
  watch = new FeedWatch(pool, readiness, checkpoints, new WaitingRequests(), undefined, clock);
});

const wait = (organization: string, ms: number, signal = new AbortController().signal): Promise<Outcome> =>
  watch.wait({ organization, kinds: [1, 2, 3, 4], after: 10, reached: 10, asOf: 0 }, ms, signal);
/** Advances the time by this much, and then expects the outcome. */
const expectAfter = async (ms: number, outcome: Promise<Outcome>): Promise<Outcome> => {
  await clock.advance(ms);
  return outcome;
};

describe('Requests that wait for the feed', () => {
  it('are limited to 64 per organization and 2,000 in total, share one poll, and free their place when they end', async () => {
    // Each request has its own connection.
    const connections: AbortController[] = [];
    const stay = (organization: string): Promise<Outcome> => {
      const connection = new AbortController();
      connections.push(connection);
      return wait(organization, 20_000, connection.signal);
    };
    const all = Array.from({ length: 2_000 }, (_, n) => stay(`o-${n % 40}`));
    expect(watch.size).toBe(2_000);
    await expect(wait('another', 1)).rejects.toThrow(Unavailable);
    await clock.advance(300);
    // The position has not changed, so changes are not queried.
    expect(looks).toBe(0);
    expect(polls).toBeGreaterThan(1);
    expect(polls).toBeLessThanOrEqual(16);
    changedOrganizations = ['o-7'];
    upTo = 11;
    await clock.advance(20);
    expect(await Promise.all(all.filter((_, n) => n % 40 === 7))).toEqual(
      Array.from({ length: 50 }, () => ({ hasNews: true, asOf: expect.any(Number), position: 10 })),
    );
    expect(watch.size).toBe(1_950);
    changedOrganizations = [];
    for (let n = 0; n < 14; n += 1) all.push(stay('o-8'));
    await expect(wait('o-8', 1)).rejects.toThrow(TooManyRequests);
    for (const connection of connections) connection.abort();
    await Promise.all(all);
    expect(watch.size).toBe(0);
  });

  it('end after their timeout with the instant up to which nothing changed, and immediately when the process stops', async () => {
    const waiting = wait('acme', 150);
    await clock.advance(140);
    expect(watch.size).toBe(1);
    const outcome = await expectAfter(10, waiting);
    expect(outcome).toEqual({ hasNews: false, asOf: expect.any(Number), position: 10 });
    expect(outcome.asOf).toBeGreaterThan(1_000);
    const long = wait('acme', 20_000);
    await clock.advance(50);
    readiness.stopping = true;
    expect((await expectAfter(20, long)).hasNews).toBe(false);
  });

  it('do not advance their instant while the database is unavailable', async () => {
    fails = true;
    expect(await expectAfter(400, wait('acme', 400))).toEqual({ hasNews: false, asOf: 0, position: 10 });
  });

  it('are woken when the read models go back, but not while the read models are behind the client', async () => {
    const behind = { organization: 'acme', kinds: [1], after: 10, reached: 4, asOf: 0 };
    upTo = 5;
    expect((await expectAfter(100, watch.wait(behind, 100, new AbortController().signal))).hasNews).toBe(false);
    // This works in the first poll and in later ones.
    expect((await expectAfter(20, wait('acme', 20_000))).hasNews).toBe(true);
    upTo = 20;
    const later = wait('acme', 20_000);
    await clock.advance(100);
    upTo = 15;
    expect((await expectAfter(20, later)).hasNews).toBe(true);
  });

  it('are the only reason to poll: polling stops when no request waits', async () => {
    await expectAfter(60, wait('acme', 60));
    await clock.advance(20);
    const before = polls;
    await clock.advance(1_000);
    expect(polls).toBe(before);
  });
});
