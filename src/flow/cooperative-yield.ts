import { setImmediate } from 'node:timers/promises';

/** How long background work may run before it yields to requests, in ms. */
const MAX_RUN_MS = 2;

/**
 * Lets requests and other work run during long work, which checks `isDue` after each item and then awaits `yieldNow`.
 * The time counts and not the number of items, because an item may take a hundred times as long as another item.
 */
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

/** Calls a function for each item, in order, and lets other work run in between. */
export const forEachYielding = async <Item>(items: readonly Item[], work: (item: Item) => void): Promise<void> => {
  const cooperativeYield = new CooperativeYield();
  for (const item of items) {
    if (cooperativeYield.isDue()) await cooperativeYield.yieldNow();
    work(item);
  }
};
