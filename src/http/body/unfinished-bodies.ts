import { RequestTimeout } from '../../errors.js';

/** How long a body may take while memory is short; otherwise as long as any request (`http/server.ts`). ms */
export const HURRIED_MS = 5_000;
const SWEEP_MS = 250;

/** Bodies that are still arriving. While memory is short, those that take long are rejected. */
export class UnfinishedBodies {
  /** When each began (ms), by the function that rejects it. */
  private readonly began = new Map<(error: RequestTimeout) => void, number>();
  private sweeping: NodeJS.Timeout | undefined;

  /** @param isMemoryShort asked a few times a second while bodies arrive */
  constructor(
    private readonly isMemoryShort: () => boolean,
    private readonly hurriedMs = HURRIED_MS,
  ) {}

  add(reject: (error: RequestTimeout) => void): void {
    this.began.set(reject, performance.now());
    this.sweeping ??= setInterval(() => this.sweep(), SWEEP_MS).unref();
  }

  delete(reject: (error: RequestTimeout) => void): void {
    this.began.delete(reject);
  }

  private sweep(): void {
    if (this.began.size === 0) {
      clearInterval(this.sweeping);
      this.sweeping = undefined;
    } else if (this.isMemoryShort()) {
      const latest = performance.now() - this.hurriedMs;
      for (const [reject, began] of this.began) if (began <= latest) reject(new RequestTimeout());
    }
  }
}
