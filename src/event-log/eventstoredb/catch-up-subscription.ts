import { Unavailable } from '../../errors.js';
import type { Batch, RecordedEvent } from '../event-log.js';
import type { Subscription } from './client.js';
import type { EventStoreConnection } from './connection.js';
import { finishesWithin } from '../../flow/deadline.js';
import { singleFlight } from '../../flow/single-flight.js';
import { EndOfLog } from './end-of-log.js';
import type { HeadTracker } from './head-tracker.js';
import type { OurStreams } from './streams.js';

/** Events per batch, and events prefetched. */
const PAGE = 3_000;
const HEARTBEAT_MS = 250;
/** How often the head is read, to know up to when everything has been delivered. */
const PROBE_MS = 150;
/** While events are still being fetched, no batch can be up to date. */
const PROBE_BEHIND_MS = 500;
/** Maximum delay of a batch for a fresh `asOf`. */
const MAX_LOOK_MS = 20;
const MAX_GATHERING_MS = 150;
/** If the log has newer events and none arrives for this long, the subscription is considered dead. */
const STALLED_MS = 3_000;
const MIN_BACK_OFF_MS = 50;
const MAX_BACK_OFF_MS = 2_000;
/** If the log ends before the last position read for this long, it is an older copy, not a node that lags. */
const GONE_BACK_MS = 15_000;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Follows the log for one receiver. If the subscription breaks, with or without an error, it resumes after the last
 * received event, so batches have no gaps and no repetitions.
 *
 * Other applications' events cost it nothing: the server skips them and reports its progress every 2,048 of them. If the
 * head is closer than that, the server is asked whether this service has events before it.
 */
export class CatchUpSubscription {
  private subscription: Subscription | undefined;
  private readonly arrived: RecordedEvent[] = [];
  /** Every event of this service up to here has arrived. */
  private fetched: bigint;
  private delivered: bigint;
  /** How long the receiver took for the last batch. */
  private tookMs = 0;
  private heardAt = performance.now();
  private isPaused = false;
  /** Whether the subscription has delivered everything the store held when it began. */
  private isLive = false;
  private failures = 0;
  private readonly ends: EndOfLog;
  private lostSince: number | undefined;
  private failure: Error | undefined;
  private wake = (): void => {};

  constructor(
    private readonly connection: EventStoreConnection,
    private readonly streams: OurStreams,
    private readonly head: HeadTracker,
    private readonly onBatch: (batch: Batch) => Promise<void>,
    private readonly signal: AbortSignal,
    after: bigint,
    /** The database's clock, in ms. */
    private readonly clock: () => Promise<number>,
  ) {
    this.fetched = after;
    this.delivered = after;
    this.ends = new EndOfLog(after);
  }

  async run(): Promise<void> {
    if (this.signal.aborted) return;
    const stop = (): void => this.wake();
    this.signal.addEventListener('abort', stop);
    const done = { is: false };
    void this.probe(done);
    this.attach();
    try {
      await this.deliver();
    } finally {
      done.is = true;
      this.signal.removeEventListener('abort', stop);
      this.subscription?.end();
      this.subscription = undefined;
    }
  }

  private async deliver(): Promise<void> {
    let beat = performance.now();
    while (!this.signal.aborted) {
      if (this.arrived.length === 0) await this.wakeOr(beat + HEARTBEAT_MS - performance.now());
      if (this.signal.aborted) return;
      if (this.failure !== undefined) throw this.failure;
      if (this.arrived.length === 0 && performance.now() - beat < HEARTBEAT_MS) continue;
      // A batch's `asOf` is the moment of delivery, not of the last probe; a slow probe does not delay the batch.
      if (this.isLive) await finishesWithin(this.look(), MAX_LOOK_MS);
      await this.fillBatch();
      const events = this.arrived.splice(0, PAGE);
      if (this.isPaused && this.arrived.length === 0) {
        this.isPaused = false;
        this.heardAt = performance.now();
        this.subscription?.resume();
      }
      this.delivered = this.arrived.length === 0 ? this.fetched : events.at(-1)!.position;
      const asOf = this.ends.deliveredUntil(this.delivered);
      const deliveredAt = performance.now();
      await this.onBatch({ events, position: this.delivered, asOf });
      beat = performance.now();
      this.tookMs = beat - deliveredAt;
    }
  }

  /**
   * A full batch costs its receiver little more than a small one, so a slow receiver gets full ones. A fast one does
   * not: events kept for long are more expensive to collect than those released at once.
   */
  private async fillBatch(): Promise<void> {
    const until = performance.now() + Math.min(this.tookMs, MAX_GATHERING_MS);
    while (this.arrived.length < PAGE && this.fetched < this.ends.last && !this.signal.aborted) {
      const left = until - performance.now();
      if (left <= 0) return;
      await this.wakeOr(left);
    }
  }

  private wakeOr(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, Math.max(0, ms));
      this.wake = () => {
        this.wake = () => {};
        clearTimeout(timer);
        // Events received in the same tick are delivered together.
        setImmediate(resolve);
      };
    });
  }

  private attach(): void {
    const lost = (reason: string): void => {
      if (this.subscription !== subscription) return;
      this.subscription = undefined;
      this.watchLosses(reason);
      const backOff = Math.min(MIN_BACK_OFF_MS * 2 ** this.failures++, MAX_BACK_OFF_MS);
      setTimeout(
        () => {
          if (!this.signal.aborted && this.subscription === undefined && this.failure === undefined) this.attach();
        },
        backOff * (0.5 + Math.random() / 2),
      ).unref();
    };
    this.heardAt = performance.now();
    this.isPaused = false;
    this.isLive = false;
    const subscription: Subscription = this.connection.subscribe(this.fetched, this.streams.prefixes, {
      onEvent: (event) => {
        if (this.subscription === subscription) this.take(event);
      },
      onCheckpoint: (position) => {
        if (this.subscription === subscription) this.reach(position);
      },
      onCaughtUp: () => {
        if (this.subscription === subscription) this.isLive = true;
      },
      onLost: lost,
    });
    this.subscription = subscription;
  }

  private take(event: RecordedEvent): void {
    // After a failover a node may begin before the requested position.
    const isNew = event.position > this.fetched;
    this.reach(event.position);
    const ours = isNew ? this.streams.pick(event) : undefined;
    if (ours === undefined) return;
    this.arrived.push(ours);
    if (this.arrived.length >= PAGE && !this.isPaused) {
      this.isPaused = true;
      this.subscription?.pause();
    }
    this.wake();
  }

  private reach(position: bigint): void {
    this.heardAt = performance.now();
    this.failures = 0;
    this.lostSince = undefined;
    if (position > this.fetched) this.fetched = position;
  }

  private async probe(done: { readonly is: boolean }): Promise<void> {
    while (!done.is && !this.signal.aborted) {
      await this.look();
      await sleep(this.isLive ? PROBE_MS : PROBE_BEHIND_MS);
    }
  }

  private readonly look = singleFlight((): Promise<void> => this.lookOnce());

  private async lookOnce(): Promise<void> {
    // Read before the head is requested: what was acknowledged before this instant is at or before the head.
    const at = await this.clock().catch(() => undefined);
    const { connections } = this.connection;
    const asked = { at, now: performance.now(), connections };
    try {
      const end = await this.head.read();
      this.ends.observe(end, asked);
      if (this.isLive && this.arrived.length === 0 && end > this.fetched) await this.passOver(end, connections);
      this.watch(end);
    } catch (error) {
      // Keep the old instant: readers see that it is stale.
      if (error instanceof Unavailable) return;
      this.fail(error as Error);
    }
  }

  /** Up to the head there are only other applications' events, unless one of ours is just arriving. */
  private async passOver(end: bigint, connections: number): Promise<void> {
    const found = await this.connection.readAll(this.fetched, this.streams.prefixes, 1);
    // Only the node that reported the head is certain to hold everything before it.
    if (found.length === 0 && this.connection.connections === connections) this.reach(end);
  }

  /** Detects what the subscription does not report: that it has stalled, or that the log was replaced. */
  private watch(end: bigint): void {
    if (end > this.fetched && !this.isPaused && performance.now() - this.heardAt > STALLED_MS) {
      const stalled = this.subscription;
      if (stalled !== undefined) {
        this.subscription = undefined;
        stalled.end();
        this.attach();
      }
    }
    if (this.ends.isBefore(this.delivered, GONE_BACK_MS)) this.failReplaced(`ends at position ${end}, before`);
  }

  /** A position without an event means a replaced log, unless the node is just recovering. */
  private watchLosses(reason: string): void {
    if (!/invalid ?position/i.test(reason)) return;
    this.lostSince ??= performance.now();
    if (performance.now() - this.lostSince > GONE_BACK_MS) this.failReplaced('has no event at position');
  }

  private failReplaced(what: string): void {
    this.fail(
      new Error(
        `The event store ${what} ${this.delivered} that was read from it: it was replaced or restored from an older backup. Drop the read models, or restore a log no older than they are.`,
      ),
    );
  }

  private fail(error: Error): void {
    this.failure = error;
    this.wake();
  }
}
