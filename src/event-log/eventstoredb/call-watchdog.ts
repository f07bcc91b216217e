import { isAnswer, timedOut } from './failures.js';

/** However lively the store is otherwise. */
const SLOWEST_CALL_MS = 5_000;
/** After so long without a single answer the client itself is suspected. */
const SUSPECT_AFTER_MS = 5_000;
const WATCH_MS = 25;
/** So few are made again although nothing sent later was answered: they are no load. */
const FEW = 32;

export type Kind = 'append' | 'read';

/** In ms. */
export interface Limits {
  /** How long nothing may be heard before the outcome counts as unknown. */
  readonly limitMs: number;
  /**
   * After so long without an answer the call is made once more, and again after twice as long: where one that was sent
   * later has been answered, or few are under way. A store that is only slow must not be given more to do.
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
  }
}

/**
 * The calls under way, each with a limit to how long nothing may be heard: of itself, or of its kind, since a store that
 * answers others is only slow. In the end there is a limit to that too. One timer watches them all.
 */
export class CallWatchdog {
  private readonly open = new Set<Watched>();
  private readonly answeredAt = { append: 0, read: 0 };
  /** When the latest call was made that has been answered. */
  private readonly overtakenBy = { append: 0, read: 0 };
  /** Reads may go on while the client has lost what it needs for appends. */
  private readonly failingSince: { append?: number | undefined; read?: number | undefined } = {};
  private watch: NodeJS.Timeout | undefined;

  /** @param onSuspicion called, also repeatedly, while not a single call of a kind has been answered for a while */
  constructor(private readonly onSuspicion: () => void) {}

  get pending(): number {
    return this.open.size;
  }

  /** @param run makes the call, and touches what it is given whenever something is heard of it */
  make<T>(kind: Kind, run: (call: { heartbeat(): void }) => Promise<T>, limits: Limits): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const call = new Call(this, kind, run, limits, resolve, reject);
      this.open.add(call);
      // Answers that have arrived already are read before a call is given up.
      this.watch ??= setInterval(() => setImmediate(() => this.look()), WATCH_MS);
      call.make();
    });
  }

  /** @returns whether the call was still under way */
  end(call: Watched, error?: unknown): boolean {
    if (!this.open.delete(call)) return false;
    if (error === undefined || isAnswer(error)) this.answered(call);
    else this.reportFailure(call.kind);
    return true;
  }

  resetFailures(): void {
    this.failingSince.append = this.failingSince.read = undefined;
  }

  private look(): void {
    const now = performance.now();
    for (const call of this.open) {
      const silence = now - Math.max(call.heardAt, this.answeredAt[call.kind]);
      if (silence >= call.limits.limitMs || now - call.startedAt >= SLOWEST_CALL_MS)
        call.fail(timedOut(now - call.startedAt));
      else if (now >= call.repeatAt && (call.startedAt < this.overtakenBy[call.kind] || this.open.size < FEW)) {
        call.repeatAt += 2 * (call.repeatAt - call.startedAt);
        call.make();
      }
    }
    if (this.open.size > 0) return;
    clearInterval(this.watch);
    this.watch = undefined;
  }

  private answered({ kind, startedAt }: Watched): void {
    this.answeredAt[kind] = performance.now();
    if (startedAt > this.overtakenBy[kind]) this.overtakenBy[kind] = startedAt;
    this.failingSince[kind] = undefined;
  }

  private reportFailure(kind: Kind): void {
    const since = (this.failingSince[kind] ??= performance.now());
    if (performance.now() - since > SUSPECT_AFTER_MS) this.onSuspicion();
  }
}
