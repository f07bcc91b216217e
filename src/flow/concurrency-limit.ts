import { TooManyRequests, Unavailable, Unprocessable } from '../errors.js';

export interface ConcurrencyLimits {
  /** The kind of job, in the plural, as error messages name it: `metrics queries`. */
  readonly name: string;
  /** How many jobs of one organization run at the same time in this process. */
  readonly maxRunning: number;
  /** How many different jobs of one organization may wait. */
  readonly maxWaiting: number;
  /** How long a job waits before it is rejected, in ms. */
  readonly waitTimeoutMs: number;
  /**
   * How long the slot of a job stays occupied after the job failed with `Unprocessable` (the result is too large), in ms.
   * Such a job has used the maximum of resources, and the client could repeat the request immediately.
   */
  readonly cooldownMs: number;
}

const RETRY_AFTER_SECONDS = 1;

interface WaitingJob {
  readonly key: string | undefined;
  readonly result: Promise<unknown>;
  readonly start: () => void;
}

interface Queue {
  running: number;
  /** The jobs in order of arrival, in an array, because a `Map` would keep finished jobs in memory (see `bag.ts`). */
  readonly waiting: WaitingJob[];
}

/**
 * Limits how many jobs of each organization run at the same time, so that the jobs of a busy organization wait for one
 * another and leave connections to other organizations. Jobs with the same key share one run (single flight), but only
 * if the run has not started when the second job arrives. A result is therefore never older than the request for it.
 */
export class ConcurrencyLimit {
  /** Only organizations with running jobs. */
  private readonly queues = new Map<string, Queue>();

  constructor(private readonly limits: ConcurrencyLimits) {}

  /**
   * Runs a job, after it has waited for a free slot of its organization if necessary.
   * @param key jobs with the same key have the same result and may share a run; undefined if the job shares no run
   * @throws TooManyRequests if too many jobs of the organization are waiting already
   * @throws Unavailable if the job has waited for `waitTimeoutMs`
   */
  run<Result>(organization: string, key: string | undefined, job: () => Promise<Result>): Promise<Result> {
    let queue = this.queues.get(organization);
    if (!queue) this.queues.set(organization, (queue = { running: 0, waiting: [] }));
    const equal = key === undefined ? undefined : queue.waiting.find((waiting) => waiting.key === key);
    if (equal) return equal.result as Promise<Result>;
    if (queue.running < this.limits.maxRunning) return this.start(organization, queue, job);
    if (queue.waiting.length < this.limits.maxWaiting) return this.wait(organization, queue, key, job);
    throw new TooManyRequests(
      RETRY_AFTER_SECONDS,
      `Too many ${this.limits.name} of this organization are waiting; retry after the number of seconds in Retry-After`,
    );
  }

  private wait<Result>(
    organization: string,
    queue: Queue,
    key: string | undefined,
    job: () => Promise<Result>,
  ): Promise<Result> {
    let waiting!: WaitingJob;
    let start!: () => void;
    const result = new Promise<Result>((resolve, reject) => {
      const timeout = setTimeout(() => {
        queue.waiting.splice(queue.waiting.indexOf(waiting), 1);
        reject(new Unavailable(`Earlier ${this.limits.name} of this organization are still running; try again`));
      }, this.limits.waitTimeoutMs).unref();
      start = () => {
        clearTimeout(timeout);
        this.start(organization, queue, job).then(resolve, reject);
      };
    });
    waiting = { key, result, start };
    queue.waiting.push(waiting);
    return result;
  }

  private async start<Result>(organization: string, queue: Queue, job: () => Promise<Result>): Promise<Result> {
    queue.running += 1;
    let cooldownMs = 0;
    try {
      return await job();
    } catch (error) {
      if (error instanceof Unprocessable) ({ cooldownMs } = this.limits);
      throw error;
    } finally {
      if (cooldownMs === 0) this.freeSlot(organization, queue);
      else setTimeout(() => this.freeSlot(organization, queue), cooldownMs).unref();
    }
  }

  private freeSlot(organization: string, queue: Queue): void {
    queue.running -= 1;
    const next = queue.waiting.shift();
    if (next) next.start();
    else if (queue.running === 0) this.queues.delete(organization);
  }
}
