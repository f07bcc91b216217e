import { Injectable } from '@nestjs/common';
import { TooManyRequests, Unavailable } from '../../errors.js';
import { pause } from '../../flow/retry.js';
import { Readiness } from '../../ops/readiness.js';
import { WatchPool } from '../../read-models/pools.js';
import { WHO_HAS_NEWS } from './statements.js';

/** Requests that may wait at once: of one organization, and in all. */
const MAX_OF_ORGANIZATION = 64;
const MAX_IN_ALL = 2_000;
const LOOK_EVERY_MS = 20;
/** A look that takes long is followed by a pause this many times as long. */
const REST = 4;
const AFTER_FAILURE_MS = 250;
const RETRY_AFTER_SECONDS = 1;

/** What is waited for. */
export interface Wanted {
  readonly organization: string;
  /** As in `listed-kind.ts`, ascending. */
  readonly kinds: readonly number[];
  /** In the log. There is nothing up to here that has not been read. */
  readonly after: number;
  /** What the read models had reached then. If they are not there any more, there may be something to read. */
  readonly reached: number;
  /** When that was so. ms */
  readonly asOf: number;
}

export interface Outcome {
  /** Whether there may be something to read. */
  readonly hasNews: boolean;
  /** Everything acknowledged before this instant (ms) has been looked at. */
  readonly asOf: number;
}

interface Waiting {
  readonly wanted: Wanted;
  after: number;
  reached: number;
  asOf: number;
  readonly end: (hasNews: boolean) => void;
}

/**
 * Wakes requests that wait for the feed. One look at the read models serves all who wait, and asks only whether there
 * is something for them; none of them holds a query or a connection.
 */
@Injectable()
export class FeedWatch {
  private readonly waiting = new Set<Waiting>();
  private readonly ofOrganization = new Map<string, number>();
  private isLooking = false;

  constructor(
    private readonly pool: WatchPool,
    private readonly readiness: Readiness,
  ) {}

  /**
   * Resolves when there is something to read, after `ms`, when `signal` aborts, or when the process stops.
   * @throws TooManyRequests if too many of the organization's requests are waiting, Unavailable if too many in all
   */
  async wait(wanted: Wanted, ms: number, signal: AbortSignal): Promise<Outcome> {
    const { organization } = wanted;
    const count = this.ofOrganization.get(organization) ?? 0;
    if (count >= MAX_OF_ORGANIZATION)
      throw new TooManyRequests(
        RETRY_AFTER_SECONDS,
        `At most ${MAX_OF_ORGANIZATION} requests of an organization may wait for the feed; retry without timeout`,
      );
    if (this.waiting.size >= MAX_IN_ALL)
      throw new Unavailable('Too many requests are waiting for the feed; retry without timeout', RETRY_AFTER_SECONDS);
    this.ofOrganization.set(organization, count + 1);
    let waiting!: Waiting;
    const ended = new Promise<boolean>((resolve) => {
      waiting = { wanted, after: wanted.after, reached: wanted.reached, asOf: wanted.asOf, end: resolve };
    });
    const inVain = (): void => waiting.end(false);
    const timer = setTimeout(inVain, ms);
    signal.addEventListener('abort', inVain);
    if (signal.aborted) inVain();
    this.waiting.add(waiting);
    if (!this.isLooking) void this.look();
    try {
      return { hasNews: await ended, asOf: waiting.asOf };
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', inVain);
      this.waiting.delete(waiting);
      const left = this.ofOrganization.get(organization)! - 1;
      if (left === 0) this.ofOrganization.delete(organization);
      else this.ofOrganization.set(organization, left);
    }
  }

  /** Requests that are waiting now. */
  get size(): number {
    return this.waiting.size;
  }

  /** Looks again and again while anybody waits. */
  private async look(): Promise<void> {
    this.isLooking = true;
    while (this.waiting.size > 0) {
      const began = performance.now();
      if (this.readiness.stopping) for (const { end } of this.waiting) end(false);
      const isDone = await this.lookOnce().catch(() => false);
      await pause(isDone ? Math.max(LOOK_EVERY_MS, REST * (performance.now() - began)) : AFTER_FAILURE_MS);
    }
    this.isLooking = false;
  }

  /** @returns whether the database answered; if not, the instant of those who wait stays where it was */
  private async lookOnce(): Promise<boolean> {
    // Who asks for the same is asked for once, from where the last of them is.
    const groups = new Map<string, Waiting[]>();
    for (const one of this.waiting) {
      const { organization, kinds } = one.wanted;
      const key = `${organization}\n${kinds.join(',')}\n${one.after}`;
      const group = groups.get(key);
      if (group) group.push(one);
      else groups.set(key, [one]);
    }
    const all = [...groups.values()];
    if (all.length === 0) return true;
    const [row] = await WHO_HAS_NEWS.run(this.pool, {
      organizations: all.map(([one]) => one!.wanted.organization),
      kinds: all.map(([one]) => one!.wanted.kinds.join(',')),
      after: all.map(([one]) => one!.after),
      least: Math.min(...all.map(([one]) => one!.after)),
    });
    if (row === undefined) return false;
    const { asOf, upTo } = row;
    const news = new Set(row.news);
    for (const [index, group] of all.entries())
      for (const one of group) {
        // The read models went back, by a failover or a restore: what comes now may stand before what was waited for.
        if (news.has(index + 1) || upTo < one.reached) one.end(true);
        else {
          one.reached = upTo;
          one.after = Math.max(one.after, upTo);
          one.asOf = Math.max(one.asOf, asOf);
        }
      }
    return true;
  }
}
