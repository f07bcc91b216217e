import { setImmediate } from 'node:timers/promises';
import { Injectable, Optional } from '@nestjs/common';
import { Gauge, Registry } from 'prom-client';
import { reportFailures, type FailureReport } from '../flow/background.js';
import { Bag, type BagMember } from '../flow/bag.js';
import { coalesce } from '../flow/shared-work.js';
import { WaitingRequests } from '../flow/concurrency-limit.js';
import { type Clock, monotonic } from '../flow/time.js';
import { limit } from '../limits.js';
import { Readiness } from '../ops/readiness.js';
import { WatchPool } from '../read-models/pools.js';
import { LIST_NAMES } from './built-lists.js';
import { followLists, ServedList } from './served-list.js';

const FOLLOW_EVERY_MS = 250;
const RETRY_MS = 1_000;
/** How many waiting requests end before other work runs. The wait of thousands of requests may end at the same time. */
const WOKEN_AT_ONCE = 4;
/** Everybody has the key of an extension, and must not take the places of all others who have it. */
const MAX_OF_ADDRESS = limit('requests that wait for a list', 500, 'requests', 'address', '429');
/** All clients of an extension may share one key. */
const MAX_OF_KEY = limit('requests that wait for a list', 10_000, 'requests', 'key', '429');
const MAX_IN_ALL = limit('requests that wait for a list', 12_000, 'requests', 'process', '503');
const ADVICE = 'without Prefer: wait';

/** Who waits. */
interface Client {
  /** Undefined for a client without a key. */
  readonly keyId: string | undefined;
  /** As returned by `strangerOf`. */
  readonly stranger: string;
}

interface Waiter extends BagMember {
  readonly list: ServedList;
  /** Whether its time is over, or its client has disconnected. */
  isOver: boolean;
  readonly end: () => void;
}

/** The lists as this process serves them, which follow the database, and the requests that wait for a change. */
@Injectable()
export class FollowedLists {
  readonly lists: readonly ServedList[] = LIST_NAMES.map((name) => new ServedList(name));
  private readonly waiters = new Bag<Waiter>();
  private readonly waiting = new WaitingRequests(MAX_IN_ALL, MAX_OF_KEY, ADVICE, 'of a key');
  /** Without a limit in all, which `waiting` has. */
  private readonly ofStrangers = new WaitingRequests(Infinity, MAX_OF_ADDRESS, ADVICE, 'of an address');
  private readonly report: FailureReport;
  private followedAt = 0;

  constructor(
    private readonly pool: WatchPool,
    private readonly readiness: Readiness,
    registry: Registry,
    @Optional() private readonly clock: Clock = monotonic,
  ) {
    this.report = reportFailures('read local lists', registry);
    const { lists } = this;
    const sinceFollowed = (): number => this.clock.now() - this.followedAt;
    new Gauge({
      name: 'threat_protection_local_list_age_seconds',
      help: 'Time since each local list was last found to be current, absent until a version was read',
      labelNames: ['list'],
      registers: [registry],
      collect() {
        this.reset();
        for (const { name, current, head } of lists)
          if (current !== undefined) this.set({ list: name }, (head!.ageMs + sinceFollowed()) / 1_000);
      },
    });
    new Gauge({
      name: 'threat_protection_local_list_entries',
      help: 'Entries of each local list, absent until a version was read',
      labelNames: ['list'],
      registers: [registry],
      collect() {
        this.reset();
        for (const { name, entries } of lists) if (entries !== undefined) this.set({ list: name }, entries);
      },
    });
  }

  /** The number of requests that are waiting now. */
  get size(): number {
    return this.waiting.size;
  }

  /** Follows the database until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (this.readiness.stopping) await this.wake(() => true);
      const isRead = await this.follow().then(
        () => true,
        (error: unknown) => this.report.failed(error),
      );
      await this.clock.sleep(isRead === true ? FOLLOW_EVERY_MS : RETRY_MS, signal);
    }
  }

  /**
   * Reads the newest versions, one call at a time, and wakes the requests that wait for them.
   * @throws as `followLists`
   */
  readonly follow = coalesce(async () => {
    await followLists(this.pool, this.lists, (changed) => void this.wake(({ list }) => list === changed));
    this.followedAt = this.clock.now();
  });

  /**
   * Resolves when a list has changed, after `ms`, or when `signal` aborts.
   * @throws TooManyRequests, Unavailable if too many requests wait already
   */
  wait(list: ServedList, { keyId, stranger }: Client, ms: number, signal: AbortSignal): Promise<void> {
    return this.ofStrangers.run(stranger, () =>
      this.waiting.run(keyId ?? stranger, () => this.waitForChange(list, ms, signal)),
    );
  }

  private async waitForChange(list: ServedList, ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.readiness.stopping) return;
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => (end = resolve));
    const waiter: Waiter = { list, isOver: false, end, bagIndex: -1 };
    this.waiters.add(waiter);
    const woken = new AbortController();
    const leave = (): void => {
      if (woken.signal.aborted) return;
      waiter.isOver = true;
      void this.wakeOver();
    };
    signal.addEventListener('abort', leave, { signal: woken.signal });
    void this.clock.sleep(ms, woken.signal).then(leave);
    await ended;
    this.waiters.delete(waiter);
    woken.abort();
  }

  private readonly wakeOver = coalesce(() => this.wake(({ isOver }) => isOver));

  private async wake(isWoken: (waiter: Waiter) => boolean): Promise<void> {
    let woken = 0;
    for (const waiter of this.waiters) {
      if (!isWoken(waiter)) continue;
      waiter.end();
      woken += 1;
      if (woken % WOKEN_AT_ONCE === 0) await setImmediate();
    }
  }
}
