import { beforeEach, describe, expect, it } from '@jest/globals';
import { TooManyRequests, Unavailable } from '../../../src/errors.js';
import { WaitingRequests } from '../../../src/flow/waiting-requests.js';
import type { Checkpoints } from '../../../src/read-models/checkpoints/checkpoints.js';
import { Readiness } from '../../../src/ops/readiness.js';
import type { WatchPool } from '../../../src/read-models/pools.js';
import { FeedWatch, type Outcome } from '../../../src/records/feed/feed-watch.js';

/** Where the read models are, and how often they were looked at. */
let looks = 0;
let polls = 0;
let upTo = 10;
/** The organizations that have something new. */
let news: readonly string[] = [];
let fails = false;
let watch: FeedWatch;
let readiness: Readiness;

const query = async ({ values }: { values: unknown[] }) => {
  looks += 1;
  if (fails) throw new Error('the database is away');
  const organizations = values[0] as string[];
  const found = organizations.flatMap((organization, index) => (news.includes(organization) ? [index + 1] : []));
  return { rows: [{ asOf: 1_000 + looks, upTo, news: found }] };
};

beforeEach(() => {
  [looks, polls, upTo, news, fails] = [0, 0, 10, [], false];
  readiness = new Readiness();
  const pool = { query } as unknown as WatchPool;
  const current = async () => {
    if (fails) throw new Error('the database is unavailable');
    polls += 1;
    return new Map([['records', { projection: 'records', position: upTo, asOf: 1_000 + polls }]]);
  };
  watch = new FeedWatch(pool, readiness, { current } as unknown as Checkpoints, new WaitingRequests());
});

const wait = (organization: string, ms: number, signal = new AbortController().signal): Promise<Outcome> =>
  watch.wait({ organization, kinds: [1, 2, 3, 4], after: 10, reached: 10, asOf: 0 }, ms, signal);
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe('those who wait for the feed', () => {
  it('are 64 of an organization and 2,000 in all; one look serves them all, and each that leaves makes room', async () => {
    // Each of its own, as those of requests.
    const connections: AbortController[] = [];
    const stay = (organization: string): Promise<Outcome> => {
      const connection = new AbortController();
      connections.push(connection);
      return wait(organization, 20_000, connection.signal);
    };
    const all = Array.from({ length: 2_000 }, (_, n) => stay(`o-${n % 40}`));
    expect(watch.size).toBe(2_000);
    await expect(wait('another', 1)).rejects.toThrow(Unavailable);
    await sleep(300);
    // Nothing was counted: nothing is looked for.
    expect(looks).toBe(0);
    news = ['o-7'];
    upTo = 11;
    expect(await Promise.all(all.filter((_, n) => n % 40 === 7))).toEqual(
      Array.from({ length: 50 }, () => ({ hasNews: true, asOf: expect.any(Number), position: 10 })),
    );
    expect(watch.size).toBe(1_950);
    news = [];
    for (let n = 0; n < 14; n += 1) all.push(stay('o-8'));
    await expect(wait('o-8', 1)).rejects.toThrow(TooManyRequests);
    for (const connection of connections) connection.abort();
    await Promise.all(all);
    expect(watch.size).toBe(0);
  });

  it('end in vain after their time, knowing up to when there was nothing, and at once when the process stops', async () => {
    const outcome = await wait('acme', 150);
    expect(outcome).toEqual({ hasNews: false, asOf: expect.any(Number), position: 10 });
    expect(outcome.asOf).toBeGreaterThan(1_000);
    const long = wait('acme', 20_000);
    await sleep(50);
    readiness.stopping = true;
    expect((await long).hasNews).toBe(false);
  });

  it('say no later instant while the database is away', async () => {
    fails = true;
    expect(await wait('acme', 400)).toEqual({ hasNews: false, asOf: 0, position: 10 });
  });

  it('are woken when the read models go back, and not while they are behind what was read', async () => {
    const behind = { organization: 'acme', kinds: [1], after: 10, reached: 4, asOf: 0 };
    upTo = 5;
    expect((await watch.wait(behind, 100, new AbortController().signal)).hasNews).toBe(false);
    // At the first look, and at a later one.
    expect((await wait('acme', 20_000)).hasNews).toBe(true);
    upTo = 20;
    const later = wait('acme', 20_000);
    await sleep(100);
    upTo = 15;
    expect((await later).hasNews).toBe(true);
  });

  it('leave no look behind when nobody waits', async () => {
    await wait('acme', 60);
    const before = polls;
    await sleep(200);
    expect(polls - before).toBeLessThanOrEqual(1);
  });
});
