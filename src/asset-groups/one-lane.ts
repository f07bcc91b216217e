import { Unavailable } from '../errors.js';

/** Runs one job after the other, so that what they hold in memory is held once. */
export class OneLane {
  private last: Promise<unknown> = Promise.resolve();
  private waiting = 0;

  constructor(private readonly mostWaiting: number) {}

  /** @throws Unavailable where too many wait already */
  async run<Result>(job: () => Promise<Result>): Promise<Result> {
    if (this.waiting >= this.mostWaiting)
      throw new Unavailable('Too many long lists of groups are being read; try again');
    this.waiting += 1;
    const mine = this.last.then(() => {
      this.waiting -= 1;
      return job();
    });
    this.last = mine.catch(() => undefined);
    return mine;
  }
}
