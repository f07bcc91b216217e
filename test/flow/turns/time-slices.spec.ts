import { describe, expect, it, jest } from '@jest/globals';
import { finish, TimeSlices, type Work } from '../../../src/flow/turns.js';
import { countTurns } from '../../support/count-turns.js';

/** Work in steps of a millisecond each. */
function* busy<Result>(steps: number, result: Result): Work<Result> {
  for (let step = 0; step < steps; step += 1) {
    for (const end = performance.now() + 1; performance.now() < end;);
    yield;
  }
  return result;
}

describe('Time slices', () => {
  it('let long work yield to the event loop repeatedly', async () => {
    const results = await Promise.all(Array.from({ length: 5 }, (_, n) => new TimeSlices().run('', busy(1, n))));
    expect(results).toEqual([0, 1, 2, 3, 4]);
    const slices = new TimeSlices();
    const work = Promise.all(Array.from({ length: 10 }, (_, n) => slices.run(`owner-${n}`, busy(20, n))));
    const turns = await countTurns(work);
    expect(await work).toHaveLength(10);
    // 200 ms of work take at least 10 turns; fewer turns would mean longer turns.
    expect(turns).toBeGreaterThanOrEqual(10);
  });

  it('make short work wait for only one slice of another owner, however much work that owner has', async () => {
    const slices = new TimeSlices();
    const order: string[] = [];
    const turn = new Promise<void>((resolve) => {
      // The time of the turn is used up, so that all jobs are queued.
      for (const end = performance.now() + 5; !slices.isOver() || performance.now() < end;);
      for (let n = 0; n < 500; n += 1) slices.begin('noisy', () => order.push('noisy'));
      void slices.run('noisy', busy(20, undefined)).then(() => order.push('long'));
      for (let n = 0; n < 3; n += 1) slices.begin('calm', () => order.push('calm'));
      slices.begin('last', () => {
        order.push('last');
        resolve();
      });
    });
    await turn;
    expect(order).toEqual(['noisy', 'calm', 'last']);
  });

  it('start short work immediately while no other work waits and the turn has time left', () => {
    const now = jest.spyOn(performance, 'now').mockReturnValue(0);
    try {
      const slices = new TimeSlices();
      let started = 0;
      slices.begin('a', () => (started += 1));
      expect(started).toBe(1);
      now.mockReturnValue(3);
      slices.begin('a', () => (started += 1));
      expect(started).toBe(1);
    } finally {
      now.mockRestore();
    }
  });

  it('let owners that wait for a turn continue alternately, however many turns one owner waits for', async () => {
    const slices = new TimeSlices();
    const order: string[] = [];
    const work = async (owner: string): Promise<void> => {
      await slices.waitForTurn(owner);
      order.push(owner);
      for (const end = performance.now() + 2; performance.now() < end;);
    };
    while (!slices.isOver());
    await Promise.all([...Array.from({ length: 20 }, () => work('noisy')), work('calm')]);
    expect(order.indexOf('calm')).toBe(1);
  });

  it('let other work run between those that resume together, however late they work', async () => {
    const slices = new TimeSlices();
    const work = async (resumed: Promise<void>): Promise<void> => {
      await resumed;
      await slices.waitForTurn('noisy');
      // A controller and the framework await a few promises before the response is written.
      for (let awaited = 0; awaited < 20; awaited += 1) await Promise.resolve();
      for (const end = performance.now() + 2; performance.now() < end;);
    };
    const resumed = Promise.resolve();
    const turns = await countTurns(Promise.all(Array.from({ length: 20 }, () => work(resumed))));
    expect(turns).toBeGreaterThanOrEqual(15);
  });

  it('postpone work by at most four consecutive turns if new connections arrive', async () => {
    const slices = new TimeSlices();
    const turnsOf = async (keepsComing: boolean): Promise<number> => {
      let isDone = false;
      while (!slices.isOver());
      slices.begin('a', () => (isDone = true));
      let turns = 0;
      while (!isDone) {
        if (keepsComing) slices.accepted();
        await new Promise(setImmediate);
        turns += 1;
      }
      return turns;
    };
    expect([await turnsOf(true), await turnsOf(false), await turnsOf(true)]).toEqual([5, 1, 5]);
  });

  it('do not let long work delay later short work', async () => {
    const slices = new TimeSlices();
    const ended: string[] = [];
    const run = (name: string, steps: number) => slices.run(name, busy(steps, name)).then((each) => ended.push(each));
    await Promise.all([run('long', 50), run('short', 1)]);
    expect(ended).toEqual(['short', 'long']);
  });

  it('do not let an error in one job affect other jobs', async () => {
    const slices = new TimeSlices();
    const failing = function* (): Work<never> {
      yield;
      throw new Error('broken');
    };
    const [failed, done] = await Promise.allSettled([slices.run('a', failing()), slices.run('a', busy(2, 'done'))]);
    expect([failed, done]).toEqual([
      { status: 'rejected', reason: new Error('broken') },
      { status: 'fulfilled', value: 'done' },
    ]);
    expect(await slices.run('a', busy(1, 'later'))).toBe('later');
  });

  it('are not used by finish(), which runs work without pausing', () => {
    expect(finish(busy(3, 'done'))).toBe('done');
  });
});
