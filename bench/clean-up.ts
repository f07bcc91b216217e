import { setTimeout as sleep } from 'node:timers/promises';

/** The default timeout of a clean-up function. Resources of a failed goal may be impossible to close, and stay open. */
const MAX_END_MS = 20_000;

/** Runs the registered clean-up functions in reverse order, each once. */
export class CleanUp {
  private readonly ends: (() => Promise<unknown>)[] = [];
  private running: Promise<void> | undefined;

  /** @param maxMs the timeout of each function, in ms */
  constructor(
    private readonly say: (line: string) => void,
    private readonly maxMs = MAX_END_MS,
  ) {}

  add(end: () => Promise<unknown>): void {
    this.ends.push(end);
  }

  run(): Promise<void> {
    this.running ??= this.endAll();
    return this.running;
  }

  private async endAll(): Promise<void> {
    for (let end = this.ends.pop(); end !== undefined; end = this.ends.pop()) {
      const ended = end().then(() => true);
      const inTime = sleep(this.maxMs, false, { ref: false });
      const isEnded = await Promise.race([ended, inTime]).catch((error: Error) => {
        this.say(`Clean-up: ${error.message}`);
        return true;
      });
      if (!isEnded) this.say(`Clean-up: a resource is still open after ${this.maxMs / 1_000} s and is not closed`);
    }
  }
}
