import type { Clock } from '../../src/flow/time.js';

/** A clock that stands still until a spec advances it. */
export class TestClock implements Clock {
  private time = 0;
  private readonly sleeping = new Set<{ readonly until: number; readonly wake: () => void }>();

  now(): number {
    return this.time;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) return resolve();
      const wake = (): void => {
        this.sleeping.delete(one);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      const one = { until: this.time + ms, wake };
      signal?.addEventListener('abort', wake);
      this.sleeping.add(one);
    });
  }

  /** Advances the time in steps of `stepMs`, and lets the code run that waits for each step. */
  async advance(ms: number, stepMs = 10): Promise<void> {
    for (const end = this.time + ms; this.time < end;) {
      this.time = Math.min(end, this.time + stepMs);
      for (const one of Array.from(this.sleeping)) if (one.until <= this.time) one.wake();
      for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    }
  }
}
