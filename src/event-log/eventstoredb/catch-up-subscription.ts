import { Unavailable } from '../../errors.js';
import type { Batch, RecordedEvent } from '../event-log.js';
import type { Subscription } from './client.js';
import type { EventStoreConnection } from './connection.js';
import type { OurStreams } from './streams.js';

/** How many events are handed over at once at the most, and fetched ahead. */
const PAGE = 3_000;
const HEARTBEAT_MS = 250;
/** How often the end of the log is looked at, to know up to when everything has been handed over. */
const PROBE_MS = 150;
/** A batch is not kept back for longer than this to say of what moment it is. */
const MAX_LOOK_MS = 20;
const MAX_GATHERING_MS = 150;
const MAX_ENDS = 64;
/** Where the log has more and nothing of it arrives for so long, the subscription is taken for dead. */
const STALLED_MS = 3_000;
const MIN_BACK_OFF_MS = 50;
const MAX_BACK_OFF_MS = 2_000;
/** A log that ends before what was read of it for so long is an older copy, not a node that is behind. */
const GONE_BACK_MS = 15_000;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Follows the log for one receiver. The subscription may break in any way, with or without a word: it is built anew
 * after the last event that arrived, so what is handed over has no gap and no repetition.
 */
export class CatchUpSubscription {
  private subscription: Subscription | undefined;
  private readonly arrived: RecordedEvent[] = [];
  /** After this everything is still to come. */
  private fetched: bigint;
  private handed: bigint;
  /** How long the receiver took for the last batch. */
  private tookMs = 0;
  private heardAt = performance.now();
  private isPaused = false;
  private failures = 0;
  /** Where the log ended at an instant; everything answered before that instant is at or before that position. */
  private ends: { readonly at: number; readonly position: bigint }[] = [];
  private asOf = 0;
  /** Where the log ended when it was looked at last. */
  private end: bigint;
  private behindSince: number | undefined;
  private failure: Error | undefined;
  private wake = (): void => {};

  constructor(
    private readonly connection: EventStoreConnection,
    private readonly streams: OurStreams,
    private readonly head: () => Promise<bigint>,
    private readonly onBatch: (batch: Batch) => Promise<void>,
    private readonly signal: AbortSignal,
    after: bigint,
  ) {
    this.fetched = after;
    this.handed = after;
    this.end = after;
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
      if (this.arrived.length === 0) await this.somethingOr(beat + HEARTBEAT_MS - performance.now());
      if (this.signal.aborted) return;
      if (this.failure !== undefined) throw this.failure;
      if (this.arrived.length === 0 && performance.now() - beat < HEARTBEAT_MS) continue;
      // So that a batch is of the moment it is handed over, not of the last look. One that comes late is not kept back.
      if (this.end <= this.fetched) await Promise.race([this.look(), sleep(MAX_LOOK_MS)]);
      await this.fillBatch();
      const events = this.arrived.splice(0, PAGE);
      if (this.isPaused && this.arrived.length === 0) {
        this.isPaused = false;
        this.heardAt = performance.now();
        this.subscription?.resume();
      }
      this.handed = events.at(-1)?.position ?? this.handed;
      this.advanceAsOf();
      const handedAt = performance.now();
      await this.onBatch({ events, position: this.handed, asOf: this.asOf });
      beat = performance.now();
      this.tookMs = beat - handedAt;
    }
  }

  /**
   * A full batch costs its receiver little more than a small one, so one who is late is given full ones. Not one who
   * takes no time: events that are kept for long cost more than those that are let go at once.
   */
  private async fillBatch(): Promise<void> {
    const until = performance.now() + Math.min(this.tookMs, MAX_GATHERING_MS);
    while (this.arrived.length < PAGE && this.fetched < this.end && !this.signal.aborted) {
      const left = until - performance.now();
      if (left <= 0) return;
      await this.somethingOr(left);
    }
  }

  private somethingOr(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, Math.max(0, ms));
      this.wake = () => {
        this.wake = () => {};
        clearTimeout(timer);
        // What arrives in the same breath is handed over together.
        setImmediate(resolve);
      };
    });
  }

  private advanceAsOf(): void {
    for (const { at, position } of this.ends) if (position <= this.handed && at > this.asOf) this.asOf = at;
    this.ends = this.ends.filter(({ at, position }) => position > this.handed && at > this.asOf);
  }

  private attach(): void {
    const lost = (): void => {
      if (this.subscription !== subscription) return;
      this.subscription = undefined;
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
    const subscription: Subscription = this.connection.subscribe(this.fetched, this.streams.prefixes, {
      onEvent: (event) => {
        if (this.subscription === subscription) this.take(event);
      },
      onProgress: () => {
        this.heardAt = performance.now();
      },
      onLost: lost,
    });
    this.subscription = subscription;
  }

  private take(event: RecordedEvent): void {
    this.heardAt = performance.now();
    // A node that is not where the last one was may begin before what we asked for.
    if (event.position <= this.fetched) return;
    this.fetched = event.position;
    this.failures = 0;
    const ours = this.streams.pick(event);
    if (ours === undefined) return;
    this.arrived.push(ours);
    if (this.arrived.length >= PAGE && !this.isPaused) {
      this.isPaused = true;
      this.subscription?.pause();
    }
    this.wake();
  }

  private async probe(done: { readonly is: boolean }): Promise<void> {
    while (!done.is && !this.signal.aborted) {
      await this.look();
      await sleep(PROBE_MS);
    }
  }

  private async look(): Promise<void> {
    const at = Date.now();
    try {
      const position = await this.head();
      if (this.ends.length >= MAX_ENDS) this.ends.splice(MAX_ENDS / 2, 1);
      this.ends.push({ at, position });
      this.end = position;
      this.watch(position);
    } catch (error) {
      // The instant stays where it was, and everyone who reads it sees that nothing newer is known.
      if (error instanceof Unavailable) return;
      this.failure = error as Error;
      this.wake();
    }
  }

  /** Notices what the subscription does not tell: that nothing comes any more, or that the log is another one. */
  private watch(end: bigint): void {
    const now = performance.now();
    if (end > this.fetched && !this.isPaused && now - this.heardAt > STALLED_MS) {
      const stalled = this.subscription;
      if (stalled !== undefined) {
        this.subscription = undefined;
        stalled.end();
        this.attach();
      }
    }
    this.behindSince = end < this.handed ? (this.behindSince ?? now) : undefined;
    if (this.behindSince !== undefined && now - this.behindSince > GONE_BACK_MS) {
      this.failure = new Error(
        `The event store ends at position ${end}, before ${this.handed} that was read from it: it was replaced or restored from an older backup. Drop the read models, or restore a log no older than they are.`,
      );
      this.wake();
    }
  }
}
