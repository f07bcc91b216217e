import { Injectable, Optional } from '@nestjs/common';
import { Registry } from 'prom-client';
import { type FailureReport, reportFailures } from '../../flow/background.js';
import { type Clock, monotonic, SharedPoll } from '../../flow/time.js';
import { WaitingRequests } from '../../flow/concurrency-limit.js';
import { Readiness } from '../../ops/readiness.js';
import { Checkpoints } from '../../read-models/checkpoints.js';
import { WatchPool } from '../../read-models/pools.js';
import { READY_REQUESTS } from './feed-elements.js';

const MIN_POLL_INTERVAL_MS = 20;
const RETRY_DELAY_MS = 250;

/** Describes which changes a request waits for. */
export interface WaitRequest {
  readonly organization: string;
  /** As in `listed-items.ts`, ascending. */
  readonly kinds: readonly number[];
  /** Position in the log up to which the client has read everything. */
  readonly after: number;
  /**
   * Position of the read models when the client read. If the read models fall behind this position, the client must
   * read again.
   */
  readonly reached: number;
  /** The client has everything that was acknowledged before this instant (ms). */
  readonly asOf: number;
}

export interface Outcome {
  /** Whether there may be new elements. */
  readonly hasNews: boolean;
  /** Everything that was acknowledged before this instant (ms) has been checked. */
  readonly asOf: number;
  /** Position in the log up to which everything has been checked. */
  readonly position: number;
}

/** A waiting request. Each poll that finds nothing new moves `after`, `reached` and `asOf` on. */
type Waiter = { -readonly [Name in keyof WaitRequest]: WaitRequest[Name] };

/**
 * Wakes requests that wait for the feed. One poll of the read models serves all waiting requests, so that a waiting
 * request needs no query and no connection.
 */
@Injectable()
export class FeedWatch {
  private readonly shared: SharedPoll<Waiter>;
  private readonly report: FailureReport;

  constructor(
    private readonly pool: WatchPool,
    private readonly readiness: Readiness,
    private readonly checkpoints: Checkpoints,
    private readonly requests: WaitingRequests,
    registry: Registry = new Registry(),
    @Optional() clock: Clock = monotonic,
  ) {
    this.shared = new SharedPoll(() => this.poll(), MIN_POLL_INTERVAL_MS, RETRY_DELAY_MS, clock);
    this.report = reportFailures('poll for changes in the feed', registry);
  }

  /**
   * Resolves when there may be new elements, after `ms`, when `signal` aborts, or when the process stops.
   * @throws TooManyRequests if too many requests of the organization are waiting, Unavailable if too many requests are
   *   waiting in total
   */
  wait(request: WaitRequest, ms: number, signal: AbortSignal): Promise<Outcome> {
    return this.requests.run(request.organization, async () => {
      const waiter: Waiter = { ...request };
      const hasNews = await this.shared.wait(waiter, ms, signal);
      return { hasNews, asOf: waiter.asOf, position: waiter.after };
    });
  }

  /** Number of waiting requests. */
  get size(): number {
    return this.shared.waiters.length;
  }

  private poll(): Promise<boolean> {
    if (this.readiness.stopping) for (const waiter of this.shared.waiters) this.shared.end(waiter, false);
    return this.pollOnce().catch((error: unknown) => {
      this.report.failed(error);
      return false;
    });
  }

  /** @returns false if the checkpoint of the records is missing; the instants of waiting requests are then unchanged */
  private async pollOnce(): Promise<boolean> {
    const records = (await this.checkpoints.current()).get('register');
    if (records === undefined) return false;
    // After a failover or a restore, the read models may be behind. New elements can then be at earlier positions.
    for (const waiter of this.shared.waiters) if (records.position < waiter.reached) this.shared.end(waiter, true);
    const outdated = this.shared.waiters.filter((waiter) => waiter.after < records.position);
    if (outdated.length > 0) await this.findChanges(outdated);
    // The instant `asOf` is valid only for the position that was read together with it.
    for (const waiter of this.shared.waiters) if (waiter.after === records.position) waiter.asOf = records.asOf;
    return true;
  }

  private async findChanges(waiters: readonly Waiter[]): Promise<void> {
    // Requests for the same kinds from the same position share one entry of the query.
    const groups = new Map<string, Waiter[]>();
    for (const waiter of waiters) {
      const { organization, kinds } = waiter;
      const key = `${organization}\n${kinds.join(',')}\n${waiter.after}`;
      const group = groups.get(key);
      if (group) group.push(waiter);
      else groups.set(key, [waiter]);
    }
    const groupedWaiters = [...groups.values()];
    const [row] = await READY_REQUESTS.run(this.pool, {
      organizations: groupedWaiters.map(([waiter]) => waiter!.organization),
      kinds: groupedWaiters.map(([waiter]) => waiter!.kinds.join(',')),
      after: groupedWaiters.map(([waiter]) => waiter!.after),
    });
    if (row === undefined) return;
    const news = new Set(row.news);
    for (const [index, group] of groupedWaiters.entries())
      for (const waiter of group) {
        if (news.has(index + 1) || row.upTo < waiter.reached) this.shared.end(waiter, true);
        else {
          waiter.reached = row.upTo;
          waiter.after = Math.max(waiter.after, row.upTo);
          waiter.asOf = row.asOf;
        }
      }
  }
}
