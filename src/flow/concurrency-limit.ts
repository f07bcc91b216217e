import { TooManyRequests, Unavailable, Unprocessable } from '../errors.js';
import { limit } from '../limits.js';
import type { TimeSlices } from './turns.js';

/** Limits how many jobs run at the same time. Further jobs wait in order, and can be rejected together. */
export class Semaphore {
  private running = 0;
  private readonly waiting: { readonly enter: () => void; readonly reject: (error: unknown) => void }[] = [];

  constructor(readonly max: number) {}

  /** How many jobs wait. */
  get queued(): number {
    return this.waiting.length;
  }

  /** @returns undefined if the job may run immediately; otherwise a promise to await */
  acquire(): Promise<void> | undefined {
    if (this.running < this.max) {
      this.running++;
      return undefined;
    }
    return new Promise<void>((enter, reject) => this.waiting.push({ enter, reject }));
  }

  release(): void {
    const next = this.waiting.shift();
    if (next) next.enter();
    else this.running--;
  }

  /** Rejects all waiting jobs. */
  rejectQueued(error: unknown): void {
    for (const { reject } of this.waiting.splice(0)) reject(error);
  }
}

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
   * How long the slot of a job stays occupied after the job failed with `Unprocessable` (the result is too large), in
   * ms; by default 0. Such a job has used the maximum of resources, and the client could repeat the request
   * immediately.
   */
  readonly cooldownMs?: number;
}

const RETRY_AFTER_SECONDS = 1;

/** Declares the limits of a kind of job, for the pages of limits. */
export const declareQueue = (limits: ConcurrencyLimits): ConcurrencyLimits => {
  const { name, maxRunning, maxWaiting, waitTimeoutMs } = limits;
  limit(name, maxRunning, 'jobs at a time', 'organization', 'waits');
  limit(name, maxWaiting, 'waiting jobs', 'organization', '429');
  limit(name, waitTimeoutMs, 'ms', 'request', '503');
  return limits;
};

interface WaitingJob {
  readonly key: string | undefined;
  readonly result: Promise<unknown>;
  readonly start: () => void;
  /** One of each request that waits for the job to start. */
  readonly timers: Set<NodeJS.Timeout>;
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

  /**
   * @param slices where requests that share a run continue in turn: they end together, however many there are, and sending
   *   each of their responses takes time; undefined if no job has a key
   */
  constructor(
    private readonly limits: ConcurrencyLimits,
    private readonly slices?: TimeSlices,
  ) {}

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
    if (equal) return this.inTurn(organization, this.join(queue, equal) as Promise<Result>);
    // Nobody shares a run that begins at once.
    if (queue.running < this.limits.maxRunning) return this.start(organization, queue, job);
    if (queue.waiting.length < this.limits.maxWaiting) {
      const result = this.wait(organization, queue, key, job);
      return key === undefined ? result : this.inTurn(organization, result);
    }
    throw new TooManyRequests(
      RETRY_AFTER_SECONDS,
      `Too many ${this.limits.name} of this organization are waiting; retry after the number of seconds in Retry-After`,
    );
  }

  private inTurn<Result>(organization: string, result: Promise<Result>): Promise<Result> {
    const { slices } = this;
    return slices === undefined ? result : result.finally(() => slices.waitForTurn(organization));
  }

  private wait<Result>(
    organization: string,
    queue: Queue,
    key: string | undefined,
    job: () => Promise<Result>,
  ): Promise<Result> {
    let start!: () => void;
    const timers = new Set<NodeJS.Timeout>();
    const result = new Promise<Result>((resolve, reject) => {
      start = () => {
        for (const timer of timers) clearTimeout(timer);
        this.start(organization, queue, job).then(resolve, reject);
      };
    });
    const waiting: WaitingJob = { key, result, start, timers };
    queue.waiting.push(waiting);
    return this.join(queue, waiting) as Promise<Result>;
  }

  /** Waits for a job that has not started, for as long as a request may wait. The last one that gives up removes it. */
  private join(queue: Queue, waiting: WaitingJob): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.timers.delete(timer);
        if (waiting.timers.size === 0) queue.waiting.splice(queue.waiting.indexOf(waiting), 1);
        reject(new Unavailable(`Earlier ${this.limits.name} of this organization are still running; try again`));
      }, this.limits.waitTimeoutMs).unref();
      waiting.timers.add(timer);
      waiting.result.then(resolve, reject);
    });
  }

  private async start<Result>(organization: string, queue: Queue, job: () => Promise<Result>): Promise<Result> {
    queue.running += 1;
    let cooldownMs = 0;
    try {
      return await job();
    } catch (error) {
      if (error instanceof Unprocessable) ({ cooldownMs = 0 } = this.limits);
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

interface Waiting {
  readonly reject: (error: unknown) => void;
}

/**
 * One queue per organization. The batches of an organization run one after another, concurrently with the batches of
 * other organizations.
 */
export class OrganizationQueues<Item extends Waiting> {
  /** Organizations with a running batch, and the items that wait behind the batch. */
  private readonly waiting = new Map<string, Item[]>();

  /**
   * @param takeBatch removes the next batch from a non-empty queue
   * @param processBatch settles each item of a batch; if `processBatch` throws, unsettled items fail with the error
   */
  constructor(
    private readonly takeBatch: (queue: Item[]) => readonly Item[],
    private readonly processBatch: (organization: string, batch: readonly Item[]) => Promise<void>,
  ) {}

  /** The items that wait behind the running batch. */
  waitingItems(organization: string): readonly Item[] {
    return this.waiting.get(organization) ?? [];
  }

  add(organization: string, item: Item): void {
    const queue = this.waiting.get(organization);
    if (queue !== undefined) return void queue.push(item);
    const begun = [item];
    this.waiting.set(organization, begun);
    void this.work(organization, begun);
  }

  private async work(organization: string, queue: Item[]): Promise<void> {
    while (queue.length > 0) {
      const batch = this.takeBatch(queue);
      try {
        await this.processBatch(organization, batch);
      } catch (error) {
        // If a dependency is unavailable, the items behind the batch are rejected too, because these items have waited
        // as long as the batch.
        const failed = error instanceof Unavailable ? [...batch, ...queue.splice(0)] : batch;
        for (const { reject } of failed) reject(error);
      }
    }
    this.waiting.delete(organization);
  }
}

const MAX_OF_ORGANIZATION = limit('requests that wait for the feed or a token', 64, 'requests', 'organization', '429');
const MAX_IN_ALL = limit('requests that wait for the feed or a token', 2_000, 'requests', 'process', '503');

const WITHOUT_WAIT = 'without timeout and Consistency-Token';

/** Limits how many requests wait in this process for new data or for a position of the log, per owner and in total. */
export class WaitingRequests {
  private readonly byOwner = new Map<string, number>();
  private total = 0;

  /**
   * @param advice what else a rejected client can do
   * @param ofOwner whose requests are counted together, in a message
   */
  constructor(
    private readonly maxInAll = MAX_IN_ALL,
    private readonly maxOfOwner = MAX_OF_ORGANIZATION,
    private readonly advice = WITHOUT_WAIT,
    private readonly ofOwner = 'of an organization',
  ) {}

  /** The number of requests that are waiting now. */
  get size(): number {
    return this.total;
  }

  /**
   * Counts a request as waiting while `wait` runs.
   * @param owner by default an organization, of which 64 requests may wait
   * @throws TooManyRequests if too many requests of the owner are waiting, Unavailable if too many are waiting in total
   */
  async run<Result>(owner: string, wait: () => Promise<Result>): Promise<Result> {
    const { maxInAll, maxOfOwner, advice, ofOwner } = this;
    const count = this.byOwner.get(owner) ?? 0;
    if (count >= maxOfOwner)
      throw new TooManyRequests(
        RETRY_AFTER_SECONDS,
        `At most ${maxOfOwner.toLocaleString('en')} requests ${ofOwner} may wait for new data; retry later, or ${advice}`,
      );
    if (this.total >= maxInAll)
      throw new Unavailable(
        `Too many requests are waiting for new data; retry later, or ${advice}`,
        RETRY_AFTER_SECONDS,
      );
    this.byOwner.set(owner, count + 1);
    this.total += 1;
    try {
      return await wait();
    } finally {
      this.total -= 1;
      const left = this.byOwner.get(owner)! - 1;
      if (left === 0) this.byOwner.delete(owner);
      else this.byOwner.set(owner, left);
    }
  }
}
