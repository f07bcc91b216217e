import { setImmediate } from 'node:timers/promises';

/** How long background work may run before it yields to requests, in ms. */
const MAX_RUN_MS = 2;

/** Lets requests run during long background work, which checks `isDue` regularly and then awaits `yieldNow`. */
export class CooperativeYield {
  private startedAt = performance.now();

  isDue(): boolean {
    return performance.now() - this.startedAt >= MAX_RUN_MS;
  }

  async yieldNow(): Promise<void> {
    await setImmediate();
    this.startedAt = performance.now();
  }
}

const CHUNK_SIZE = 50;

/**
 * Splits items into chunks and yields to the event loop between two chunks. While a batch is prepared, the previous
 * batch is being written, and its next statement must not wait until the preparation is complete.
 */
export async function* yieldingChunks<Item>(items: readonly Item[]): AsyncGenerator<readonly Item[]> {
  for (let start = 0; start < items.length; start += CHUNK_SIZE) {
    if (start > 0) await setImmediate();
    yield items.slice(start, start + CHUNK_SIZE);
  }
}
