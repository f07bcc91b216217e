import { Unavailable } from '../errors.js';

/** Runs jobs one at a time, so that only one of them holds memory. */
export class OneLane {
  private last: Promise<unknown> = Promise.resolve();
  private waiting = 0;

  constructor(private readonly mostWaiting: number) {}

  /** @throws Unavailable if too many are waiting */
  async run<Result>(job: () => Promise<Result>): Promise<Result> {
    if (this.waiting >= this.mostWaiting) throw new Unavailable('Too many long group lists are being read; try again');
    this.waiting += 1;
    const mine = this.last.then(() => {
      this.waiting -= 1;
      return job();
    });
    this.last = mine.catch(() => undefined);
    return mine;
  }
}
