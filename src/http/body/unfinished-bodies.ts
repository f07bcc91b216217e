import { RequestTimeout } from '../../errors.js';
import { Bag, type Placed } from '../../flow/bag.js';

/** How long a body may take while memory is short; otherwise as long as any request (`http/server.ts`). ms */
export const HURRIED_MS = 5_000;
const SWEEP_MS = 250;

/** A body that is still arriving. */
export interface Unfinished extends Placed {
  /** ms */
  readonly began: number;
  readonly reject: (error: RequestTimeout) => void;
}

/** Bodies that are still arriving. While memory is short, those that take long are rejected. */
export class UnfinishedBodies {
  private readonly bodies = new Bag<Unfinished>();
  private sweeping: NodeJS.Timeout | undefined;

  /** @param isMemoryShort asked a few times a second while bodies arrive */
  constructor(
    private readonly isMemoryShort: () => boolean,
    private readonly hurriedMs = HURRIED_MS,
  ) {}

  /** @returns what is to be deleted once the body has arrived or been rejected */
  add(reject: (error: RequestTimeout) => void): Unfinished {
    const body: Unfinished = { began: performance.now(), reject, place: 0 };
    this.bodies.add(body);
    this.sweeping ??= setInterval(() => this.sweep(), SWEEP_MS).unref();
    return body;
  }

  delete(body: Unfinished): void {
    this.bodies.delete(body);
  }

  private sweep(): void {
    if (this.bodies.size === 0) {
      clearInterval(this.sweeping);
      this.sweeping = undefined;
    } else if (this.isMemoryShort()) {
      const latest = performance.now() - this.hurriedMs;
      for (const { began, reject } of this.bodies) if (began <= latest) reject(new RequestTimeout());
    }
  }
}
