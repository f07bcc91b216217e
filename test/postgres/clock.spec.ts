import { describe, expect, it } from '@jest/globals';
import type { Pool } from 'pg';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseClock } from '../../src/postgres/clock.js';

/** A database whose clock is ahead of the monotonic clock by `offsetMs`, and whose responses arrive late. */
const databaseWith = (state: { offsetMs: number; delaysMs: number[]; fails?: boolean }) => {
  const now = (): number => Math.floor(performance.now() + state.offsetMs);
  const query = async (): Promise<unknown> => {
    if (state.fails) throw new Error('connect ECONNREFUSED');
    const row = { now: String(now()) };
    await sleep(state.delaysMs.shift() ?? 0);
    return { rows: [{ ...row, now: Number(row.now) }] };
  };
  const clock = new DatabaseClock({ query } as unknown as Pick<Pool, 'query'>);
  return { clock, behindMs: (): number => now() - clock.now() };
};

describe('DatabaseClock', () => {
  it('uses the fastest of the last responses, and is never ahead of the database', async () => {
    const { clock, behindMs } = databaseWith({ offsetMs: 1e12, delaysMs: [400, 0, 300] });
    for (let count = 0; count < 3; count += 1) await clock.measure();
    expect(behindMs()).toBeGreaterThanOrEqual(0);
    expect(behindMs()).toBeLessThan(200);
  });

  it('measures repeatedly at the start, because the first response is slow', async () => {
    const { clock, behindMs } = databaseWith({ offsetMs: 1e12, delaysMs: [500] });
    (await clock.begin()).end();
    expect(behindMs()).toBeLessThan(250);
  });

  it('follows the clock of the database at once if that clock is set back', async () => {
    const state = { offsetMs: 1e12, delaysMs: [] as number[] };
    const { clock, behindMs } = databaseWith(state);
    await clock.measure();
    state.offsetMs -= 60_000;
    await clock.measure();
    expect(behindMs()).toBeGreaterThanOrEqual(0);
  });

  it('forgets old measurements, because the two clocks drift apart', async () => {
    const state = { offsetMs: 1e12, delaysMs: [] as number[] };
    const { clock, behindMs } = databaseWith(state);
    await clock.measure();
    // Each response is slow enough to permit the first offset.
    state.offsetMs -= 50;
    state.delaysMs = Array<number>(6).fill(100);
    for (let count = 0; count < 6; count += 1) await clock.measure();
    expect(behindMs()).toBeGreaterThanOrEqual(0);
  });

  it('uses the clock of this machine until the first measurement succeeds', async () => {
    const state = { offsetMs: 1e12, delaysMs: [], fails: true };
    const { clock } = databaseWith(state);
    (await clock.begin()).end();
    expect(Math.abs(clock.now() - Date.now())).toBeLessThan(1_000);
  });
});
