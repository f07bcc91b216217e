import { setTimeout as sleep, setImmediate } from 'node:timers/promises';

/**
 * Exponential back-off with jitter. The pause doubles up to a maximum. Each pause is shortened at random by up to a half,
 * so that processes that failed together do not retry together.
 */
export class Backoff {
  private failures = 0;

  constructor(
    private readonly firstMs: number,
    private readonly maxMs: number,
  ) {}

  /** Counts a failure. @returns the pause before the next attempt, in ms */
  next(): number {
    const pause = Math.min(this.firstMs * 2 ** this.failures, this.maxMs);
    this.failures += 1;
    return Math.ceil(pause * (1 - Math.random() / 2));
  }

  /** Called after a success: the next pause has the initial length again. */
  reset(): void {
    this.failures = 0;
  }
}

/** The longest time of a timer in ms, nearly 25 days. Node replaces a longer time by 1 ms. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Resolves after `ms` milliseconds, at the latest after `MAX_TIMER_MS`, or as soon as `signal` aborts. */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  sleep(Math.min(ms, MAX_TIMER_MS), undefined, { signal }).catch(() => undefined);

/**
 * Repeats `work` until it succeeds.
 * @param pauseAfter called with the error of each failed attempt; returns the pause before the next attempt in ms, or undefined
 *   if there is none
 * @param stop ends the pause
 * @throws the error of the last attempt; the error that `pauseAfter` throws; the reason of `stop`, once it aborts during
 *   a pause
 */
export const retry = async <Result>(
  work: () => Promise<Result>,
  pauseAfter: (error: unknown) => number | undefined,
  stop?: AbortSignal,
): Promise<Result> => {
  for (;;)
    try {
      return await work();
    } catch (error) {
      const ms = pauseAfter(error);
      if (ms === undefined) throw error;
      await pause(ms, stop);
      stop?.throwIfAborted();
    }
};

/** The source of time for code that waits. Specs pass their own clock. */
export interface Clock {
  /** Milliseconds since an arbitrary moment; never decreases. */
  now(): number;
  /** Resolves after `ms` milliseconds, or as soon as `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const monotonic: Clock = { now: () => performance.now(), sleep: pause };

/** After a slow poll, the pause is this many times the duration of the poll. */
const PAUSE_FACTOR = 4;

/** Polls while somebody waits. One poll serves all waiters. */
export class SharedPoll<Waiter> {
  private readonly waiting = new Map<Waiter, (isFound: boolean) => void>();
  private isPolling = false;

  /**
   * @param poll calls `end` for the waiters whose wait is over; never rejects; returns whether the poll succeeded
   * @param minPauseMs the pause after a quick poll
   * @param retryMs the pause after a poll that failed
   */
  constructor(
    private readonly poll: () => Promise<boolean>,
    private readonly minPauseMs: number,
    private readonly retryMs: number,
    private readonly clock: Clock,
  ) {}

  get waiters(): readonly Waiter[] {
    return [...this.waiting.keys()];
  }

  end(waiter: Waiter, isFound: boolean): void {
    this.waiting.get(waiter)?.(isFound);
  }

  /** @returns the value given to `end`; false after `ms` or when `signal` aborts */
  async wait(waiter: Waiter, ms: number, signal?: AbortSignal): Promise<boolean> {
    const timer = new AbortController();
    const ended = new Promise<boolean>((resolve) => this.waiting.set(waiter, resolve));
    const stop = (): void => this.end(waiter, false);
    signal?.addEventListener('abort', stop, { signal: timer.signal });
    if (signal?.aborted === true) stop();
    if (!this.isPolling) void this.repeat();
    void this.clock.sleep(ms, timer.signal).then(stop);
    try {
      return await ended;
    } finally {
      timer.abort();
      this.waiting.delete(waiter);
    }
  }

  private async repeat(): Promise<void> {
    this.isPolling = true;
    while (this.waiting.size > 0) {
      const began = this.clock.now();
      const isDone = await this.poll();
      const pauseMs = Math.max(this.minPauseMs, PAUSE_FACTOR * (this.clock.now() - began));
      // The pause lets the waiters whose wait is over leave.
      await this.clock.sleep(isDone ? pauseMs : this.retryMs);
    }
    this.isPolling = false;
  }
}

/**
 * Waits for work for at most `ms` milliseconds. The work continues after the timeout. The timer does not keep the process
 * running.
 * @returns whether the work finished in time; rejects if the work failed in time
 */
export const finishesWithin = async (work: Promise<unknown>, ms: number): Promise<boolean> => {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, ms, false).unref();
  });
  try {
    return await Promise.race([work.then(() => true), timeout]);
  } finally {
    clearTimeout(timer);
  }
};

/** How long background work may run before it yields to requests, in ms. */
const MAX_RUN_MS = 2;

/**
 * Lets requests and other work run during long work, which checks `isDue` after each item and then awaits `yieldNow`.
 * The time counts and not the number of items, because an item may take a hundred times as long as another item.
 */
export class CooperativeYield {
  private startedAt = performance.now();

  isDue(): boolean {
    return performance.now() - this.startedAt >= MAX_RUN_MS;
  }

  async yieldNow(): Promise<void> {
    await setImmediate();
    this.startedAt = performance.now();
  }
}

/** Calls a function for each item, in order, and lets other work run in between. */
export const forEachYielding = async <Item>(items: readonly Item[], work: (item: Item) => void): Promise<void> => {
  const cooperativeYield = new CooperativeYield();
  for (const item of items) {
    if (cooperativeYield.isDue()) await cooperativeYield.yieldNow();
    work(item);
  }
};
