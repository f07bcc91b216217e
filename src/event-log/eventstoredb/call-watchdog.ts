import { Bag, type BagMember } from '../../flow/bag.js';
import { isAnswer, timedOut } from './failures.js';

/** Maximum silence of one call, however active the connection is. */
const MAX_SILENCE_MS = 5_000;
/** A connection that stays silent for this long while calls are pending is dropped. */
const DEAD_AFTER_MS = 3_000;
const WATCH_MS = 25;
/** With fewer pending calls than this, each may be retried: that is no load. */
const FEW = 32;

export type Kind = 'append' | 'read';

/** In ms. */
export interface Limits {
  /** Silence after which the outcome counts as unknown. */
  readonly limitMs: number;
  /**
   * Without an answer the call is repeated after this long, and again after twice as long, if a later call has been
   * answered or few are pending. Of many, only one is repeated at a time: a slow store must not get more work, and one
   * that dropped them all, as a resigning leader does, says so to a single call.
   */
  readonly repeatMs: number;
}

type Watched = BagMember & Pick<Call, 'kind' | 'startedAt' | 'heardAt' | 'repeatAt' | 'limits' | 'make' | 'fail'>;

/** One call, perhaps made several times: the first answer counts. */
class Call<T = unknown> {
  readonly startedAt = performance.now();
  heardAt = this.startedAt;
  repeatAt: number;
  bagIndex = 0;

  constructor(
    private readonly calls: CallWatchdog,
    readonly kind: Kind,
    private readonly run: (call: { heartbeat(): void }) => Promise<T>,
    readonly limits: Limits,
    private readonly resolve: (result: T) => void,
    private readonly reject: (error: unknown) => void,
  ) {
    this.repeatAt = this.startedAt + limits.repeatMs;
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

  /** Called when the store shows a sign of life for this call. */
  heartbeat(): void {
    this.heardAt = performance.now();
    this.calls.heard(this.kind);
  }
}

/**
 * Limits the silence of each pending call: of the call itself, or of all calls of its kind, because a store that answers
 * others is only slow. A call that shows signs of life may take any time. One timer watches them all.
 */
export class CallWatchdog {
  private readonly open = new Bag<Watched>();
  private readonly answeredAt = { append: 0, read: 0 };
  /** When the latest answered call was made. */
  private readonly overtakenBy = { append: 0, read: 0 };
  /** When one of many was last repeated. */
  private readonly triedAt = { append: 0, read: 0 };
  /** Since when calls of a kind have been pending in silence. Reads may continue while appends cannot. */
  private readonly silentSince: { append?: number | undefined; read?: number | undefined } = {};
  private watch: NodeJS.Timeout | undefined;

  /** @param onDead called after 3 s of silence of one kind of call; pending calls should then fail */
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
      // Process answers that have already arrived before giving up a call.
      this.watch ??= setInterval(() => setImmediate(() => this.look()), WATCH_MS);
      call.make();
    });
  }

  /** @returns whether the call was still pending */
  end(call: Watched, error?: unknown): boolean {
    if (!this.open.delete(call)) return false;
    if (error === undefined || isAnswer(error)) this.answered(call);
    else this.dropIfDead();
    return true;
  }

  /** Subscriptions report here too. */
  heard(kind: Kind): void {
    this.silentSince[kind] = undefined;
  }

  /** Fails all pending calls: their outcome is unknown. */
  failAll(error: Error): void {
    for (const call of this.open) call.fail(error);
  }

  private look(): void {
    const now = performance.now();
    for (const call of this.open) {
      const { kind, limits } = call;
      const silence = now - Math.max(call.heardAt, this.answeredAt[kind]);
      if (silence >= limits.limitMs || now - call.heardAt >= MAX_SILENCE_MS) call.fail(timedOut(now - call.heardAt));
      else if (now >= call.repeatAt && this.mayRepeat(call, now)) {
        call.repeatAt += 2 * (call.repeatAt - call.startedAt);
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

  private mayRepeat({ kind, startedAt, limits }: Watched, now: number): boolean {
    if (startedAt < this.overtakenBy[kind] || this.open.size < FEW) return true;
    if (now - this.triedAt[kind] < limits.repeatMs) return false;
    this.triedAt[kind] = now;
    return true;
  }

  private answered({ kind, startedAt }: Watched): void {
    this.answeredAt[kind] = performance.now();
    if (startedAt > this.overtakenBy[kind]) this.overtakenBy[kind] = startedAt;
    this.heard(kind);
  }
}
