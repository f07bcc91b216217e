import { Bag, type BagMember } from '../../flow/bag.js';
import { isResponse, timedOut } from './failures.js';

/** Maximum time without a response to one call, even if other calls are answered. */
const MAX_SILENCE_MS = 5_000;
/** A connection without any response for this long while calls are pending is dropped. */
const DEAD_AFTER_MS = 3_000;
const WATCH_MS = 25;
/** While fewer calls than this are pending, each call may be retried, because so few calls do not burden the store. */
const FEW_CALLS = 32;

export type Kind = 'append' | 'read';

/** Timeouts of one call, in ms. */
export interface Limits {
  /** Time without a response after which the outcome counts as unknown. */
  readonly timeoutMs: number;
  /**
   * If the call gets no response within this time, the call is repeated, and repeated again at growing intervals,
   * provided that a later call has been answered or that fewer than `FEW_CALLS` calls are pending. Otherwise only one
   * of the pending calls is repeated within this time: a slow store must not get more work, and one repeated call is
   * enough to find out that the store has dropped all calls, such as a leader that has resigned.
   */
  readonly retryAfterMs: number;
}

type Watched = BagMember & Pick<Call, 'kind' | 'startedAt' | 'heardAt' | 'retryAt' | 'limits' | 'make' | 'fail'>;

/** One call, which may be sent several times. The first response counts. */
class Call<T = unknown> {
  readonly startedAt = performance.now();
  heardAt = this.startedAt;
  retryAt: number;
  bagIndex = 0;

  constructor(
    private readonly calls: CallWatchdog,
    readonly kind: Kind,
    private readonly run: (call: { heartbeat(): void }) => Promise<T>,
    readonly limits: Limits,
    private readonly resolve: (result: T) => void,
    private readonly reject: (error: unknown) => void,
  ) {
    this.retryAt = this.startedAt + limits.retryAfterMs;
  }

  make(): void {
    this.run(this).then(
      (result) => {
        if (this.calls.end(this)) this.resolve(result);
      },
      (error: unknown) => this.fail(error),
    );
  }

  fail(error: unknown): void {
    if (this.calls.end(this, error)) this.reject(error);
  }

  /** Called when the store sends something for this call. */
  heartbeat(): void {
    this.heardAt = performance.now();
    this.calls.heard(this.kind);
  }
}

/**
 * Fails pending calls that get no response. While other calls of the same kind are answered, the store is only slow,
 * and a call may wait longer. A call that keeps receiving data has no time limit. One timer checks all calls.
 */
export class CallWatchdog {
  private readonly open = new Bag<Watched>();
  private readonly answeredAt = { append: 0, read: 0 };
  /** The latest start time of an answered call. */
  private readonly latestAnsweredStart = { append: 0, read: 0 };
  /** When a call was last repeated while many calls were pending. */
  private readonly retriedAt = { append: 0, read: 0 };
  /** Since when calls of a kind have been pending without a response. Reads may work while appends do not. */
  private readonly silentSince: { append?: number | undefined; read?: number | undefined } = {};
  private watch: NodeJS.Timeout | undefined;

  /** @param onDead called after 3 s without a response to one kind of call; it should fail all pending calls */
  constructor(private readonly onDead: () => void) {}

  get pending(): number {
    return this.open.size;
  }

  /** @param run makes the call and calls `heartbeat()` on every response */
  make<T>(kind: Kind, run: (call: { heartbeat(): void }) => Promise<T>, limits: Limits): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const call = new Call(this, kind, run, limits, resolve, reject);
      this.open.add(call);
      this.silentSince[kind] ??= call.startedAt;
      // `setImmediate`: responses that have already arrived are processed before a call is given up.
      this.watch ??= setInterval(() => setImmediate(() => this.check()), WATCH_MS);
      call.make();
    });
  }

  /** @returns whether the call was still pending */
  end(call: Watched, error?: unknown): boolean {
    if (!this.open.delete(call)) return false;
    if (error === undefined || isResponse(error)) this.answered(call);
    else this.dropIfDead();
    return true;
  }

  /** Called for every response; subscriptions call it too. */
  heard(kind: Kind): void {
    this.silentSince[kind] = undefined;
  }

  /** Fails all pending calls: their outcome is unknown. */
  failAll(error: Error): void {
    for (const call of this.open) call.fail(error);
  }

  private check(): void {
    const now = performance.now();
    for (const call of this.open) {
      const { kind, limits } = call;
      const silence = now - Math.max(call.heardAt, this.answeredAt[kind]);
      if (silence >= limits.timeoutMs || now - call.heardAt >= MAX_SILENCE_MS) call.fail(timedOut(now - call.heardAt));
      else if (now >= call.retryAt && this.mayRetry(call, now)) {
        call.retryAt += 2 * (call.retryAt - call.startedAt);
        call.make();
      }
    }
    if (this.open.size > 0) return this.dropIfDead();
    clearInterval(this.watch);
    this.watch = undefined;
  }

  private dropIfDead(): void {
    const { append = Infinity, read = Infinity } = this.silentSince;
    if (performance.now() - Math.min(append, read) < DEAD_AFTER_MS) return;
    this.silentSince.append = this.silentSince.read = undefined;
    this.onDead();
  }

  private mayRetry({ kind, startedAt, limits }: Watched, now: number): boolean {
    if (startedAt < this.latestAnsweredStart[kind] || this.open.size < FEW_CALLS) return true;
    if (now - this.retriedAt[kind] < limits.retryAfterMs) return false;
    this.retriedAt[kind] = now;
    return true;
  }

  private answered({ kind, startedAt }: Watched): void {
    this.answeredAt[kind] = performance.now();
    if (startedAt > this.latestAnsweredStart[kind]) this.latestAnsweredStart[kind] = startedAt;
    this.heard(kind);
  }
}
