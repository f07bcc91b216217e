import { RequestTimeout } from '../../errors.js';
import { Bag, type BagMember } from '../../flow/bag.js';

/** How long a body may take to arrive while memory is low, in ms. Otherwise `requestTimeout` in `http/server.ts` applies. */
export const LOW_MEMORY_TIMEOUT_MS = 5_000;
const SWEEP_INTERVAL_MS = 250;

/** A body that is still arriving. */
export interface UnfinishedBody extends BagMember {
  /** In ms of `performance.now()`. */
  readonly startedAt: number;
  readonly reject: (error: RequestTimeout) => void;
}

/** Keeps track of bodies that are still arriving, and rejects slow bodies while memory is low. */
export class UnfinishedBodies {
  private readonly bodies = new Bag<UnfinishedBody>();
  private sweeping: NodeJS.Timeout | undefined;

  /** @param isMemoryLow called a few times a second while bodies arrive */
  constructor(
    private readonly isMemoryLow: () => boolean,
    private readonly lowMemoryTimeoutMs = LOW_MEMORY_TIMEOUT_MS,
  ) {}

  /** @returns an entry that the caller deletes once the body has arrived or has been rejected */
  add(reject: (error: RequestTimeout) => void): UnfinishedBody {
    const body: UnfinishedBody = { startedAt: performance.now(), reject, bagIndex: 0 };
    this.bodies.add(body);
    this.sweeping ??= setInterval(() => this.sweep(), SWEEP_INTERVAL_MS).unref();
    return body;
  }

  delete(body: UnfinishedBody): void {
    this.bodies.delete(body);
  }

  private sweep(): void {
    if (this.bodies.size === 0) {
      clearInterval(this.sweeping);
      this.sweeping = undefined;
    } else if (this.isMemoryLow()) {
      const latest = performance.now() - this.lowMemoryTimeoutMs;
      for (const { startedAt, reject } of this.bodies) if (startedAt <= latest) reject(new RequestTimeout());
    }
  }
}
