import { Injectable } from '@nestjs/common';
import { FairQueue } from './fair/fair-queue.js';

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
const MAX_TURN_MS = 3;
/**
 * The longest work in one turn of the event loop while other jobs wait, in ms. Node accepts one connection per turn, so
 * a new client waits for one turn for each connection before its own.
 */
const MAX_BUSY_TURN_MS = 1;
/**
 * The maximum number of consecutive turns without work while new connections arrive. About five connections are
 * accepted in these turns.
 */
const MAX_IDLE_TURNS = 4;
/** The longest time that one job may work before the next job, in ms. */
const MAX_SHARE_MS = 1;

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

  /** Whether this turn of the event loop has used up its time. */
  isOver(): boolean {
    if (!this.isScheduled) this.schedule();
    return performance.now() - this.turnStartedAt >= (this.queue.isEmpty ? MAX_TURN_MS : MAX_BUSY_TURN_MS);
  }

  /** Runs a short job, immediately if no other job waits and this turn has time left, which is nearly always the case. */
  begin(owner: string, job: () => void): void {
    if (!this.isOver() && this.queue.isEmpty) return job();
    this.add(owner, () => {
      job();
      return true;
    });
  }

  /** Waits until the owner may continue, which is immediately under the conditions of `begin`. */
  waitForTurn(owner: string): Promise<void> {
    return new Promise((resolve) => this.begin(owner, resolve));
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
   * The measurement of a job ends in a microtask, so that it includes the microtasks of the job. Most of the work of a
   * request runs in its microtasks.
   */
  private readonly next = (): void => {
    if (this.isOver()) return;
    const next = this.queue.take();
    if (next === undefined) return;
    const { name, job, spend } = next;
    const startedAt = performance.now();
    if (!job()) this.queue.add(name, job);
    queueMicrotask(() => {
      spend(performance.now() - startedAt);
      this.next();
    });
  };
}
