import { isAnswer, timedOut } from './failures.js';

/** However lively the store is otherwise: nothing was heard of the call itself for so long. */
const MAX_SILENCE_MS = 5_000;
/** A connection on which nothing is heard for so long, though something was asked, is left. */
const DEAD_AFTER_MS = 3_000;
const WATCH_MS = 25;
/** Retries allowed although nothing sent later was answered: few enough to be no load. */
const FEW = 32;

export type Kind = 'append' | 'read';

/** In ms. */
export interface Limits {
  /** How long nothing may be heard before the outcome counts as unknown. */
  readonly limitMs: number;
  /**
   * After so long without an answer the call is repeated, and again after twice as long: where one that was sent
   * later has been answered, or few are under way. Of many only one each time: a store that is slow must not be given
   * more to do, and one that has dropped them all, as a leader that resigns does, says so to a single one.
   */
  readonly repeatMs: number;
}

type Watched = Pick<Call, 'kind' | 'startedAt' | 'heardAt' | 'repeatAt' | 'limits' | 'make' | 'fail'>;

/** One call, perhaps made several times: the first answer counts. */
class Call<T = unknown> {
  readonly startedAt = performance.now();
  heardAt = this.startedAt;
  repeatAt: number;

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

  /** Something was heard of it. */
  heartbeat(): void {
    this.heardAt = performance.now();
    this.calls.heard(this.kind);
  }
}

/**
 * The calls under way, each with a limit to how long nothing may be heard: of itself, or of its kind, since a store that
 * answers others is only slow. How long it takes has no limit as long as something is heard of it. One timer watches
 * them all.
 */
export class CallWatchdog {
  private readonly open = new Set<Watched>();
  private readonly answeredAt = { append: 0, read: 0 };
  /** When the latest call was made that has been answered. */
  private readonly overtakenBy = { append: 0, read: 0 };
  /** When one of many was made again. */
  private readonly triedAt = { append: 0, read: 0 };
  /** Since when nothing was heard though something was asked. Reads may continue while appends cannot. */
  private readonly silentSince: { append?: number | undefined; read?: number | undefined } = {};
  private watch: NodeJS.Timeout | undefined;

  /** @param onDead called when nothing at all was heard of a kind of call for 3 s; what is under way should be failed */
  constructor(private readonly onDead: () => void) {}

  get pending(): number {
    return this.open.size;
  }

  /** @param run makes the call, and touches what it is given whenever something is heard of it */
  make<T>(kind: Kind, run: (call: { heartbeat(): void }) => Promise<T>, limits: Limits): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const call = new Call(this, kind, run, limits, resolve, reject);
      this.open.add(call);
      this.silentSince[kind] ??= call.startedAt;
      // Answers that have arrived already are read before a call is given up.
      this.watch ??= setInterval(() => setImmediate(() => this.look()), WATCH_MS);
      call.make();
    });
  }

  /** @returns whether the call was still under way */
  end(call: Watched, error?: unknown): boolean {
    if (!this.open.delete(call)) return false;
    if (error === undefined || isAnswer(error)) this.answered(call);
    else this.leaveWhereDead();
    return true;
  }

  /** For subscriptions too. */
  heard(kind: Kind): void {
    this.silentSince[kind] = undefined;
  }

  /** Fails whatever is under way: its outcome is unknown. */
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
    if (this.open.size > 0) return this.leaveWhereDead();
    clearInterval(this.watch);
    this.watch = undefined;
  }

  private leaveWhereDead(): void {
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
