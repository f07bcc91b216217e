import { Injectable } from '@nestjs/common';
import { FairQueue } from './fair-queue.js';

/** Work in steps: it yields where it may pause. */
export type Work<Result> = Generator<undefined, Result, undefined>;

/** Runs short work without pausing. */
export const finish = <Result>(work: Work<Result>): Result => {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
};

/** How long one turn of the event loop may work here while nothing waits. ms */
const MAX_TURN_MS = 3;
/**
 * The same while something waits. Short, because Node accepts one connection a turn: behind long turns a new client
 * waits for as many of them as there are connections before its own.
 */
const MAX_BUSY_TURN_MS = 1;
/** Turns left to new connections in a row: with them some five are accepted in the time of two turns. */
const MAX_TURNS_LEFT = 4;
/** How long one job may work before the next. ms */
const MAX_SHARE_MS = 1;

/** @returns whether the job has ended */
type Job = () => boolean;

/**
 * Shares the event loop fairly among owners, with bounded time per turn. However much one caller requests, another that
 * requests little waits for a slice or two.
 */
@Injectable()
export class TimeSlices {
  private readonly queue = new FairQueue<Job>();
  private turnBegan = 0;
  private isScheduled = false;
  private hasAccepted = false;
  private turnsLeft = 0;

  /** Whether this turn of the event loop has used up its time. */
  isOver(): boolean {
    if (!this.isScheduled) this.schedule();
    return performance.now() - this.turnBegan >= (this.queue.isEmpty ? MAX_TURN_MS : MAX_BUSY_TURN_MS);
  }

  /** Runs a short job: at once if nothing waits and this turn has time left, which is nearly always. */
  begin(owner: string, job: () => void): void {
    if (!this.isOver() && this.queue.isEmpty) return job();
    this.add(owner, () => {
      job();
      return true;
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

  /** Called when a connection is accepted: more may be queued, so the next turns are left to them. */
  accepted(): void {
    this.hasAccepted = true;
  }

  private add(owner: string, job: Job): void {
    this.queue.add(owner, job);
    if (!this.isScheduled) this.schedule();
  }

  private schedule(): void {
    this.isScheduled = true;
    this.turnBegan = performance.now();
    setImmediate(this.turn);
  }

  private readonly turn = (): void => {
    this.isScheduled = false;
    if (this.queue.isEmpty) return;
    this.schedule();
    const leave = this.hasAccepted && this.turnsLeft < MAX_TURNS_LEFT;
    this.turnsLeft = leave ? this.turnsLeft + 1 : 0;
    this.hasAccepted = false;
    if (!leave) this.next();
  };

  /** In a microtask each, so that what a job has left to microtasks, which is most of a request, counts as well. */
  private readonly next = (): void => {
    if (this.isOver()) return;
    const next = this.queue.take();
    if (next === undefined) return;
    const { name, job, spend } = next;
    const began = performance.now();
    if (!job()) this.queue.add(name, job);
    queueMicrotask(() => {
      spend(performance.now() - began);
      this.next();
    });
  };
}
