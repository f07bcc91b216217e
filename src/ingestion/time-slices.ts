import { Injectable } from '@nestjs/common';

/** Work in steps: it yields where it may pause. */
export type Work<Result> = Generator<undefined, Result, undefined>;

/** Does work at once, without a pause. For what is short. */
export const finish = <Result>(work: Work<Result>): Result => {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
};

/** For all work together within one turn of the event loop. Milliseconds. */
const MAX_TURN_MS = 10;
/** For one piece of work before the next one has its turn. Milliseconds. */
const MAX_SHARE_MS = 2;

interface Job {
  /** @returns whether it has ended */
  readonly step: () => boolean;
}

/**
 * Runs long work a few milliseconds a turn, so that other requests are answered meanwhile: round robin among the pieces
 * of work, all of them within one share of each turn however many there are.
 */
@Injectable()
export class TimeSlices {
  private readonly jobs: Job[] = [];

  /** Never begins at once: many requests may arrive in one turn. */
  run<Result>(work: Work<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const step = (): boolean => {
        try {
          const { done, value } = work.next();
          if (done) resolve(value);
          return done === true;
        } catch (error) {
          reject(error as Error);
          return true;
        }
      };
      this.jobs.push({ step });
      if (this.jobs.length === 1) setImmediate(this.turn);
    });
  }

  private readonly turn = (): void => {
    const begin = performance.now();
    for (let now = begin; now - begin < MAX_TURN_MS && this.jobs.length > 0;) {
      const [job] = this.jobs;
      const shareBegan = now;
      let ended = false;
      while (!ended && now - shareBegan < MAX_SHARE_MS) {
        ended = job!.step();
        now = performance.now();
      }
      this.jobs.shift();
      if (!ended) this.jobs.push(job!);
    }
    if (this.jobs.length > 0) setImmediate(this.turn);
  };
}
