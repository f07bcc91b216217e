import { setImmediate } from 'node:timers/promises';

/** How long background work may keep requests waiting, in ms. */
const MAX_TURN_MS = 2;

/** Lets requests run during long background work, which checks now and then whether its turn is over. */
export class Yielder {
  private started = performance.now();

  isOver(): boolean {
    return performance.now() - this.started >= MAX_TURN_MS;
  }

  async pass(): Promise<void> {
    await setImmediate();
    this.started = performance.now();
  }
}

const AT_A_TIME = 50;

/**
 * Gives a few items at a time, and others their turn in between: while a batch is prepared the one before it is being
 * written, and its next statement must not wait until all is prepared.
 */
export async function* chunksYielding<Item>(items: readonly Item[]): AsyncGenerator<readonly Item[]> {
  for (let start = 0; start < items.length; start += AT_A_TIME) {
    if (start > 0) await setImmediate();
    yield items.slice(start, start + AT_A_TIME);
  }
}
