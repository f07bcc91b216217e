/** Limits how many run at a time; the others wait in turn, and can be rejected together. */
export class Semaphore {
  private running = 0;
  private readonly waiting: { readonly enter: () => void; readonly refuse: (error: unknown) => void }[] = [];

  constructor(readonly max: number) {}

  /** @returns undefined if nothing has to be awaited */
  acquire(): Promise<void> | undefined {
    if (this.running < this.max) {
      this.running++;
      return undefined;
    }
    return new Promise<void>((enter, refuse) => this.waiting.push({ enter, refuse }));
  }

  release(): void {
    const next = this.waiting.shift();
    if (next) next.enter();
    else this.running--;
  }

  rejectQueued(error: unknown): void {
    for (const { refuse } of this.waiting.splice(0)) refuse(error);
  }
}
