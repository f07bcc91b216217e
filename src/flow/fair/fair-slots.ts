import { FairQueue } from './fair-queue.js';

/**
 * Limits how many jobs run at the same time, in total and for each owner. The next waiting job belongs to the owner that
 * has used the slots for the least time, so that an owner with few jobs hardly waits for owners with many jobs.
 */
export class FairSlots {
  private readonly waiting = new FairQueue<() => Promise<void>>();
  /** Only owners with running jobs. */
  private readonly runningOf = new Map<string, number>();
  private running = 0;

  constructor(
    private readonly max: number,
    private readonly maxOfOwner: number,
  ) {}

  /** Runs a job, in the same turn of the event loop if a slot is free. */
  run<Result>(owner: string, job: () => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.waiting.add(owner, () => job().then(resolve, reject));
      this.start();
    });
  }

  private start(): void {
    while (this.running < this.max) {
      const next = this.waiting.take((owner) => (this.runningOf.get(owner) ?? 0) < this.maxOfOwner);
      if (next === undefined) return;
      const { name, job, spend } = next;
      const startedAt = performance.now();
      this.count(name, 1);
      void job().finally(() => {
        spend(performance.now() - startedAt);
        this.count(name, -1);
        this.start();
      });
    }
  }

  private count(owner: string, change: 1 | -1): void {
    this.running += change;
    const running = (this.runningOf.get(owner) ?? 0) + change;
    if (running === 0) this.runningOf.delete(owner);
    else this.runningOf.set(owner, running);
  }
}
