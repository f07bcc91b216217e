import { setImmediate } from 'node:timers/promises';

const AT_A_TIME = 50;

/**
 * Gives a few items at a time, and others their turn in between: while a batch is prepared the one before it is being
 * written, and its next statement must not wait until all is prepared.
 */
export async function* inTurns<Item>(items: readonly Item[]): AsyncGenerator<readonly Item[]> {
  for (let start = 0; start < items.length; start += AT_A_TIME) {
    if (start > 0) await setImmediate();
    yield items.slice(start, start + AT_A_TIME);
  }
}
