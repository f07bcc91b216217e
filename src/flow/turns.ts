import { Injectable } from '@nestjs/common';
import { limit } from '../limits.js';

/** An owner that was idle starts with this much less than the least used time, in ms, so that its job is next. */
const HEAD_START_MS = 1;

interface Owner<Job> {
  readonly jobs: Job[];
  /** Time that the owner has used, in ms. */
  usedMs: number;
}

/**
 * Queues the jobs of owners that share one processor or a set of slots. The next job belongs to the owner that has used
 * the least time, so that an owner with few jobs hardly waits for owners with many jobs. An idle owner accumulates no
 * credit.
 */
export class FairQueue<Job> {
  /** Owners with queued jobs, and owners without jobs that have used more time than `leastUsedMs`. */
  private readonly owners = new Map<string, Owner<Job>>();
  /** The least time that an owner with jobs has used, in ms. Never decreases. */
  private leastUsedMs = 0;
  private waiting = 0;

  get isEmpty(): boolean {
    return this.waiting === 0;
  }

  add(name: string, job: Job): void {
    const initial = this.leastUsedMs - HEAD_START_MS;
    let owner = this.owners.get(name);
    if (owner === undefined) this.owners.set(name, (owner = { jobs: [], usedMs: initial }));
    else if (owner.jobs.length === 0) owner.usedMs = Math.max(owner.usedMs, initial);
    owner.jobs.push(job);
    this.waiting += 1;
  }

  /**
   * @param mayRun whether an owner may have its next job now
   * @returns the next job and a function that charges its duration in ms to the owner; undefined if there is no such job
   */
  take(
    mayRun: (name: string) => boolean = () => true,
  ): { readonly name: string; readonly job: Job; readonly spend: (ms: number) => void } | undefined {
    let next: [string, Owner<Job>] | undefined;
    for (const entry of this.owners) {
      const [name, { jobs, usedMs }] = entry;
      if (jobs.length > 0) {
        if ((next === undefined || usedMs < next[1].usedMs) && mayRun(name)) next = entry;
      } else if (this.waiting === 0 || usedMs <= this.leastUsedMs) this.owners.delete(name);
    }
    if (next === undefined) return undefined;
    const [name, owner] = next;
    this.leastUsedMs = Math.max(this.leastUsedMs, owner.usedMs);
    this.waiting -= 1;
    return { name, job: owner.jobs.shift()!, spend: (ms) => void (owner.usedMs += ms) };
  }
}

/**
 * Limits how many jobs run at the same time, in total and for each owner. The next waiting job belongs to the owner that
 * has used the slots for the least time, so that an owner with few jobs hardly waits for owners with many jobs.
 */
export class FairSlots {
  private readonly waiting = new FairQueue<() => Promise<void>>();
  /** Only owners with running jobs. */
  private readonly runningOf = new Map<string, number>();
  private running = 0;

  constructor(
    private readonly max: number,
    private readonly maxOfOwner: number,
  ) {}

  /** Runs a job, in the same turn of the event loop if a slot is free. */
  run<Result>(owner: string, job: () => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.waiting.add(owner, () => job().then(resolve, reject));
      this.start();
    });
  }

  private start(): void {
    while (this.running < this.max) {
      const next = this.waiting.take((owner) => (this.runningOf.get(owner) ?? 0) < this.maxOfOwner);
      if (next === undefined) return;
      const { name, job, spend } = next;
      const startedAt = performance.now();
      this.count(name, 1);
      void job().finally(() => {
        spend(performance.now() - startedAt);
        this.count(name, -1);
        this.start();
      });
    }
  }

  private count(owner: string, change: 1 | -1): void {
    this.running += change;
    const running = (this.runningOf.get(owner) ?? 0) + change;
    if (running === 0) this.runningOf.delete(owner);
    else this.runningOf.set(owner, running);
  }
}

/** Work in steps. The generator yields wherever the work may be paused. */
export type Work<Result> = Generator<undefined, Result, undefined>;

/** Runs short work without pausing. */
export const finish = <Result>(work: Work<Result>): Result => {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
};

/** The longest work in one turn of the event loop while no other job waits, in ms. */
const MAX_TURN_MS = limit('turn on the event loop', 3, 'ms', 'organization', 'waits');
/**
 * The longest work in one turn of the event loop while other jobs wait, in ms. Node accepts one connection per turn, so
 * a new client waits for one turn for each connection before its own.
 */
const MAX_BUSY_TURN_MS = limit('turn on the event loop while other work waits', 1, 'ms', 'organization', 'waits');
/**
 * The maximum number of consecutive turns without work while new connections arrive. About five connections are
 * accepted in these turns.
 */
const MAX_IDLE_TURNS = 4;
/** The longest time that one job may work before the next job, in ms. */
const MAX_SHARE_MS = 1;

/** Calls `then` after the microtasks that are queued now, and all microtasks that these queue. */
const afterMicrotasks = (then: () => void): void => queueMicrotask(() => process.nextTick(then));

/** @returns whether the job is complete */
type Job = () => boolean;

/**
 * Shares the event loop fairly among owners, with a bounded working time per turn. A caller with few requests waits for
 * one or two slices, however many requests another caller sends.
 */
@Injectable()
export class TimeSlices {
  private readonly queue = new FairQueue<Job>();
  private turnStartedAt = 0;
  private isScheduled = false;
  private hasAccepted = false;
  private idleTurns = 0;
  /** Whether somebody who has waited for a turn may still have to use it, in microtasks. */
  private isContinuing = false;

  /** Whether this turn of the event loop has used up its time. */
  isOver(): boolean {
    if (!this.isScheduled) this.schedule();
    return performance.now() - this.turnStartedAt >= (this.queue.isEmpty ? MAX_TURN_MS : MAX_BUSY_TURN_MS);
  }

  /** Runs a short job, immediately if no other job waits and this turn has time left, which is nearly always the case. */
  begin(owner: string, job: () => void): void {
    if (!this.isOver() && this.queue.isEmpty) return job();
    this.addShort(owner, job);
  }

  /**
   * Waits until the owner may continue, which is immediately under the conditions of `begin`. Of those that resume together,
   * such as requests that share a result, only the first continues immediately: the turn has time left until the microtasks
   * of the first have run.
   */
  waitForTurn(owner: string): Promise<void> {
    return new Promise((resolve) => {
      const proceed = (): void => {
        this.isContinuing = true;
        afterMicrotasks(() => (this.isContinuing = false));
        resolve();
      };
      if (this.isContinuing) this.addShort(owner, proceed);
      else this.begin(owner, proceed);
    });
  }

  /** Runs long work in slices. */
  run<Result>(owner: string, work: Work<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.add(owner, () => {
        const until = performance.now() + MAX_SHARE_MS;
        try {
          do {
            const { done, value } = work.next();
            if (done) {
              resolve(value);
              return true;
            }
          } while (performance.now() < until);
          return false;
        } catch (error) {
          reject(error as Error);
          return true;
        }
      });
    });
  }

  /** Called when a connection is accepted. More connections may be queued, so the next turns do no work. */
  accepted(): void {
    this.hasAccepted = true;
  }

  private addShort(owner: string, job: () => void): void {
    this.add(owner, () => {
      job();
      return true;
    });
  }

  private add(owner: string, job: Job): void {
    this.queue.add(owner, job);
    if (!this.isScheduled) this.schedule();
  }

  private schedule(): void {
    this.isScheduled = true;
    this.turnStartedAt = performance.now();
    setImmediate(this.turn);
  }

  private readonly turn = (): void => {
    this.isScheduled = false;
    if (this.queue.isEmpty) return;
    this.schedule();
    const isIdle = this.hasAccepted && this.idleTurns < MAX_IDLE_TURNS;
    this.idleTurns = isIdle ? this.idleTurns + 1 : 0;
    this.hasAccepted = false;
    if (!isIdle) this.next();
  };

  /**
   * The measurement of a job ends after the microtasks of the job. Most of the work of a request runs in its microtasks.
   */
  private readonly next = (): void => {
    if (this.isOver()) return;
    const next = this.queue.take();
    if (next === undefined) return;
    const { name, job, spend } = next;
    const startedAt = performance.now();
    if (!job()) this.queue.add(name, job);
    afterMicrotasks(() => {
      spend(performance.now() - startedAt);
      this.next();
    });
  };
}
