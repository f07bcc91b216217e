import { Injectable, Optional } from '@nestjs/common';
import { Registry } from 'prom-client';
import { type FailureReport, reportFailures } from '../../flow/background/failure-report.js';
import { type Clock, monotonic } from '../../flow/clock.js';
import { WaitingRequests } from '../../flow/waiting-requests.js';
import { Readiness } from '../../ops/readiness.js';
import { Checkpoints } from '../../read-models/checkpoints/checkpoints.js';
import { WatchPool } from '../../read-models/pools.js';
import { WHO_HAS_NEWS } from './statements.js';

const LOOK_EVERY_MS = 20;
/** A look that takes long is followed by a pause this many times as long. */
const REST = 4;
const AFTER_FAILURE_MS = 250;

/** What is waited for. */
export interface Wanted {
  readonly organization: string;
  /** As in `kinds.ts`, ascending. */
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
  /** The position up to which everything has been looked at. */
  readonly position: number;
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
  private readonly report: FailureReport;
  private isLooking = false;

  constructor(
    private readonly pool: WatchPool,
    private readonly readiness: Readiness,
    private readonly checkpoints: Checkpoints,
    private readonly requests: WaitingRequests,
    registry: Registry = new Registry(),
    @Optional() private readonly clock: Clock = monotonic,
  ) {
    this.report = reportFailures('look for news of the feed', registry);
  }

  /**
   * Resolves when there is something to read, after `ms`, when `signal` aborts, or when the process stops.
   * @throws TooManyRequests if too many of the organization's requests are waiting, Unavailable if too many in all
   */
  wait(wanted: Wanted, ms: number, signal: AbortSignal): Promise<Outcome> {
    return this.requests.run(wanted.organization, () => this.waitFor(wanted, ms, signal));
  }

  private async waitFor(wanted: Wanted, ms: number, signal: AbortSignal): Promise<Outcome> {
    let waiting!: Waiting;
    const ended = new Promise<boolean>((resolve) => {
      waiting = { wanted, after: wanted.after, reached: wanted.reached, asOf: wanted.asOf, end: resolve };
    });
    const inVain = (): void => waiting.end(false);
    const timer = new AbortController();
    void this.clock.sleep(ms, timer.signal).then(inVain);
    signal.addEventListener('abort', inVain);
    if (signal.aborted) inVain();
    this.waiting.add(waiting);
    if (!this.isLooking) void this.look();
    try {
      return { hasNews: await ended, asOf: waiting.asOf, position: waiting.after };
    } finally {
      timer.abort();
      signal.removeEventListener('abort', inVain);
      this.waiting.delete(waiting);
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
      const began = this.clock.now();
      if (this.readiness.stopping) for (const { end } of this.waiting) end(false);
      const isDone = await this.lookOnce().catch((error: unknown) => {
        this.report.failed(error);
        return false;
      });
      const rest = Math.max(LOOK_EVERY_MS, REST * (this.clock.now() - began));
      await this.clock.sleep(isDone ? rest : AFTER_FAILURE_MS);
    }
    this.isLooking = false;
  }

  /** @returns whether the database answered; if not, the instant of those who wait stays where it was */
  private async lookOnce(): Promise<boolean> {
    const records = (await this.checkpoints.current()).get('records');
    if (records === undefined) return false;
    // The read models went back, by a failover or a restore: what comes now may stand before what was waited for.
    for (const one of this.waiting) if (records.position < one.reached) one.end(true);
    const behind = [...this.waiting].filter((one) => one.after < records.position);
    if (behind.length > 0) await this.askForNews(behind);
    // The instant belongs to the position that was read with it.
    for (const one of this.waiting) if (one.after === records.position) one.asOf = records.asOf;
    return true;
  }

  private async askForNews(waiting: readonly Waiting[]): Promise<void> {
    // Who asks for the same is asked for once, from where the last of them is.
    const groups = new Map<string, Waiting[]>();
    for (const one of waiting) {
      const { organization, kinds } = one.wanted;
      const key = `${organization}\n${kinds.join(',')}\n${one.after}`;
      const group = groups.get(key);
      if (group) group.push(one);
      else groups.set(key, [one]);
    }
    const all = [...groups.values()];
    const [row] = await WHO_HAS_NEWS.run(this.pool, {
      organizations: all.map(([one]) => one!.wanted.organization),
      kinds: all.map(([one]) => one!.wanted.kinds.join(',')),
      after: all.map(([one]) => one!.after),
    });
    if (row === undefined) return;
    const news = new Set(row.news);
    for (const [index, group] of all.entries())
      for (const one of group) {
        if (news.has(index + 1) || row.upTo < one.reached) one.end(true);
        else {
          one.reached = row.upTo;
          one.after = Math.max(one.after, row.upTo);
          one.asOf = row.asOf;
        }
      }
  }
}
