import { Unavailable } from '../../errors.js';
import type { Batch, RecordedEvent } from '../event-log.js';
import type { Subscription } from './client.js';
import { type EventStoreConnection, isFullPage } from './connection.js';
import { finishesWithin } from '../../flow/time.js';
import { singleFlight } from '../../flow/shared-work.js';
import type { OurStreams } from './streams.js';

const MAX_RECORDS = 64;
/**
 * How long the responses of a node are not trusted after a new connection or a pause. A node that was frozen during an
 * election still behaves as the leader until it learns the result, which took up to 3 s. The first node of the process
 * is trusted at once.
 */
const PROBATION_MS = 5_000;
/**
 * A leader that responds within this time has not been replaced: freezes that led to an election took 3.7 s or more.
 */
const MAX_PAUSE_MS = 2_000;

/** The time and the connection of a request for the end of the log. */
interface HeadRequest {
  /** The time in ms by the database's clock; undefined if the database did not respond. */
  readonly at: number | undefined;
  /** The time in ms by `performance.now()`. */
  readonly now: number;
  /** Number of connections that had been made when the request was sent. */
  readonly connections: number;
}

/**
 * Records the end of the log together with the time at which it was read. These records and the delivered position
 * determine the time up to which all acknowledged events have been delivered.
 */
export class EndOfLog {
  /** Every event acknowledged before `at` is at or before `position`. */
  private records: { readonly at: number; readonly position: bigint }[] = [];
  private asOf: number | undefined;
  private connections: number | undefined;
  private answeredAt = 0;
  private trustedFrom = Number.NEGATIVE_INFINITY;
  private behindSince: number | undefined;

  /** @param last the end of the log when it was last read */
  constructor(public last: bigint) {}

  /** Records a response that has just arrived. */
  observe(position: bigint, { at, now, connections }: HeadRequest): void {
    this.last = position;
    const answered = performance.now();
    const hasPaused = answered - this.answeredAt > MAX_PAUSE_MS;
    if (this.connections !== undefined && (hasPaused || this.connections !== connections))
      this.trustedFrom = answered + PROBATION_MS;
    this.connections = connections;
    this.answeredAt = answered;
    if (now < this.trustedFrom || at === undefined) return;
    if (this.records.length >= MAX_RECORDS) this.records.splice(MAX_RECORDS / 2, 1);
    this.records.push({ at, position });
  }

  /**
   * Uses the last record at or before the delivered position, even if an earlier record has a later time, because the
   * clock may have been set back.
   * @returns the time (ms) before which every acknowledged event has been delivered; undefined if no such time is known
   */
  deliveredUntil(delivered: bigint): number | undefined {
    const newest = this.records.findLastIndex(({ position }) => position <= delivered);
    if (newest === -1) return this.asOf;
    this.asOf = this.records[newest]!.at;
    this.records = this.records.slice(newest + 1);
    return this.asOf;
  }

  /** Whether the log has ended before `position` at each call for more than `ms` milliseconds. */
  isBefore(position: bigint, ms: number): boolean {
    const now = performance.now();
    this.behindSince = this.last < position ? (this.behindSince ?? now) : undefined;
    return this.behindSince !== undefined && now - this.behindSince > ms;
  }
}

/** Maximum events per batch, and maximum events received in advance. */
const PAGE = 3_000;
const HEARTBEAT_MS = 250;
/** How often the head is read, to know the time up to which everything has been delivered. */
const PROBE_MS = 150;
/** How often the head is read while the subscription catches up. */
const PROBE_BEHIND_MS = 500;
/** Maximum delay of a batch to get a current `asOf`. */
const MAX_PROBE_MS = 20;
/** Maximum delay of a batch to collect more events. */
const MAX_GATHERING_MS = 150;
/** If the log has newer events but no event arrives for this long, the subscription is replaced. */
const STALLED_MS = 3_000;
const MIN_BACK_OFF_MS = 50;
const MAX_BACK_OFF_MS = 2_000;
/**
 * If the log has ended before the delivered position for this long, the store was replaced or restored from an older
 * copy. A node that only lags catches up sooner.
 */
const GONE_BACK_MS = 15_000;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Delivers the log to one receiver. If the subscription breaks, with or without an error, it continues after the last
 * received event, so batches have no gaps and no repetitions.
 *
 * The server skips events of other applications and reports its position after every 2,048 skipped events. The server
 * does not report fewer skipped events before the head, so a read checks whether this service has an event between the
 * last known position and the head.
 */
export class CatchUpSubscription {
  private subscription: Subscription | undefined;
  private readonly arrived: RecordedEvent[] = [];
  /** The position up to which every event of this service has arrived. */
  private fetched: bigint;
  private delivered: bigint;
  /** How long the receiver took to process the last batch, in ms. */
  private tookMs = 0;
  private heardAt = performance.now();
  private isPaused = false;
  /** Whether the subscription has caught up with the store. */
  private isLive = false;
  private failures = 0;
  private readonly endOfLog: EndOfLog;
  private positionInvalidSince: number | undefined;
  private failure: Error | undefined;
  private wake = (): void => {};

  constructor(
    private readonly connection: EventStoreConnection,
    private readonly streams: OurStreams,
    private readonly readHead: () => Promise<bigint>,
    private readonly onBatch: (batch: Batch) => Promise<void>,
    private readonly signal: AbortSignal,
    after: bigint,
    /** Reads the database's clock, in ms. */
    private readonly clock: () => Promise<number>,
  ) {
    this.fetched = after;
    this.delivered = after;
    this.endOfLog = new EndOfLog(after);
  }

  async run(): Promise<void> {
    if (this.signal.aborted) return;
    const stop = (): void => this.wake();
    this.signal.addEventListener('abort', stop);
    const done = { is: false };
    void this.keepProbing(done);
    this.connect();
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
    let lastBatchAt = performance.now();
    while (!this.signal.aborted) {
      if (this.arrived.length === 0) await this.wakeOr(lastBatchAt + HEARTBEAT_MS - performance.now());
      if (this.signal.aborted) return;
      if (this.failure !== undefined) throw this.failure;
      if (this.arrived.length === 0 && performance.now() - lastBatchAt < HEARTBEAT_MS) continue;
      // Probe first, so that the batch has a current `asOf`. If the probe takes longer than MAX_PROBE_MS, the batch is
      // delivered with the result of an earlier probe.
      if (this.isLive) await finishesWithin(this.probe(), MAX_PROBE_MS);
      await this.fillBatch();
      const events = this.arrived.splice(0, PAGE);
      if (this.isPaused && this.arrived.length === 0) {
        this.isPaused = false;
        this.heardAt = performance.now();
        this.subscription?.resume();
      }
      this.delivered = this.arrived.length === 0 ? this.fetched : events.at(-1)!.position;
      const asOf = this.endOfLog.deliveredUntil(this.delivered);
      const deliveredAt = performance.now();
      await this.onBatch({ events, position: this.delivered, asOf });
      lastBatchAt = performance.now();
      this.tookMs = lastBatchAt - deliveredAt;
    }
  }

  /**
   * Waits for more events while the receiver is slow, because a full batch costs the receiver little more than a small
   * batch. For a fast receiver, waiting would only make garbage collection more expensive.
   */
  private async fillBatch(): Promise<void> {
    const until = performance.now() + Math.min(this.tookMs, MAX_GATHERING_MS);
    while (!isFullPage(this.arrived, PAGE) && this.fetched < this.endOfLog.last && !this.signal.aborted) {
      const leftMs = until - performance.now();
      if (leftMs <= 0) return;
      await this.wakeOr(leftMs);
    }
  }

  private wakeOr(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, Math.max(0, ms));
      this.wake = () => {
        this.wake = () => {};
        clearTimeout(timer);
        // Events that arrive in the same turn of the event loop are delivered together.
        setImmediate(resolve);
      };
    });
  }

  private connect(): void {
    const lost = (reason: string): void => {
      if (this.subscription !== subscription) return;
      this.subscription = undefined;
      this.checkPosition(reason);
      const backOff = Math.min(MIN_BACK_OFF_MS * 2 ** this.failures++, MAX_BACK_OFF_MS);
      setTimeout(
        () => {
          if (!this.signal.aborted && this.subscription === undefined && this.failure === undefined) this.connect();
        },
        backOff * (0.5 + Math.random() / 2),
      ).unref();
    };
    this.heardAt = performance.now();
    this.isPaused = false;
    this.isLive = false;
    const subscription: Subscription = this.connection.subscribe(this.fetched, this.streams.prefixes, {
      onEvent: (event) => {
        if (this.subscription === subscription) this.receive(event);
      },
      onCheckpoint: (position) => {
        if (this.subscription === subscription) this.advance(position);
      },
      onCaughtUp: () => {
        if (this.subscription === subscription) this.isLive = true;
      },
      onLost: lost,
    });
    this.subscription = subscription;
  }

  private receive(event: RecordedEvent): void {
    // After a failover, a node may send events again that are at or before the requested position.
    const isNew = event.position > this.fetched;
    this.advance(event.position);
    const ownEvent = isNew ? this.streams.pick(event) : undefined;
    if (ownEvent === undefined) return;
    this.arrived.push(ownEvent);
    if (isFullPage(this.arrived, PAGE) && !this.isPaused) {
      this.isPaused = true;
      this.subscription?.pause();
    }
    this.wake();
  }

  private advance(position: bigint): void {
    this.heardAt = performance.now();
    this.failures = 0;
    this.positionInvalidSince = undefined;
    if (position > this.fetched) this.fetched = position;
  }

  private async keepProbing(done: { readonly is: boolean }): Promise<void> {
    while (!done.is && !this.signal.aborted) {
      await this.probe();
      await sleep(this.isLive ? PROBE_MS : PROBE_BEHIND_MS);
    }
  }

  private readonly probe = singleFlight((): Promise<void> => this.probeOnce());

  private async probeOnce(): Promise<void> {
    // The clock is read first, so every event acknowledged before this time is at or before the head.
    const at = await this.clock().catch(() => undefined);
    const { connections } = this.connection;
    const request = { at, now: performance.now(), connections };
    try {
      const end = await this.readHead();
      this.endOfLog.observe(end, request);
      if (this.isLive && this.arrived.length === 0 && end > this.fetched) await this.skipForeign(end, connections);
      this.checkProgress(end);
    } catch (error) {
      // The store is unavailable, so the head is unknown: `asOf` stays as it is, and the next probe tries again.
      if (error instanceof Unavailable) return;
      this.fail(error as Error);
    }
  }

  /** Advances to the head if there are only events of other applications before it. */
  private async skipForeign(end: bigint, connections: number): Promise<void> {
    const found = await this.connection.readAll(this.fetched, this.streams.prefixes, 1);
    // Only the node that reported the head certainly holds every event before it.
    if (found.length === 0 && this.connection.connections === connections) this.advance(end);
  }

  /** Detects that the subscription has stalled or that the log was replaced, which the server does not report. */
  private checkProgress(end: bigint): void {
    if (end > this.fetched && !this.isPaused && performance.now() - this.heardAt > STALLED_MS) {
      const stalled = this.subscription;
      if (stalled !== undefined) {
        this.subscription = undefined;
        stalled.end();
        this.connect();
      }
    }
    if (this.endOfLog.isBefore(this.delivered, GONE_BACK_MS))
      this.failReplaced(`ends at position ${end}, before position ${this.delivered}`);
  }

  /**
   * If the server has reported for more than 15 s that no event begins at the position of the subscription, the log was
   * replaced. A node that is recovering reports the same for a shorter time.
   */
  private checkPosition(reason: string): void {
    if (!/invalid ?position/i.test(reason)) return;
    this.positionInvalidSince ??= performance.now();
    if (performance.now() - this.positionInvalidSince > GONE_BACK_MS)
      this.failReplaced(`has no event at position ${this.fetched}`);
  }

  private failReplaced(what: string): void {
    this.fail(
      new Error(
        `The event store ${what}, up to which it has already been read: the event store was replaced or restored from an older backup. Drop the read models, or restore a log that is not older than the read models.`,
      ),
    );
  }

  private fail(error: Error): void {
    this.failure = error;
    this.wake();
  }
}
