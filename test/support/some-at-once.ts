/**
 * Does the work of each item, some of it at the same time, for specs that mostly wait.
 * @param most how many items are worked on at the same time
 * @returns the outcome of each item, once all have ended; a test awaits its own and reports the failure
 */
export const someAtOnce = async <Item, Result>(
  items: readonly Item[],
  most: number,
  work: (item: Item) => Promise<Result>,
): Promise<ReadonlyMap<Item, Promise<Result>>> => {
  const outcomes = new Map<Item, Promise<Result>>();
  const waiting = items.values();
  const lane = async (): Promise<void> => {
    for (const item of waiting) {
      const outcome = work(item);
      outcomes.set(item, outcome);
      await Promise.allSettled([outcome]);
    }
  };
  await Promise.all(Array.from({ length: most }, lane));
  return outcomes;
};
