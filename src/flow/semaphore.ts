/** Limits how many jobs run at the same time. Further jobs wait in order, and can be rejected together. */
export class Semaphore {
  private running = 0;
  private readonly waiting: { readonly enter: () => void; readonly reject: (error: unknown) => void }[] = [];

  constructor(readonly max: number) {}

  /** @returns undefined if the job may run immediately; otherwise a promise to await */
  acquire(): Promise<void> | undefined {
    if (this.running < this.max) {
      this.running++;
      return undefined;
    }
    return new Promise<void>((enter, reject) => this.waiting.push({ enter, reject }));
  }

  release(): void {
    const next = this.waiting.shift();
    if (next) next.enter();
    else this.running--;
  }

  /** Rejects all waiting jobs. */
  rejectQueued(error: unknown): void {
    for (const { reject } of this.waiting.splice(0)) reject(error);
  }
}
