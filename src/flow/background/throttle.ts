const EVERY_MS = 1_000;

/**
 * Passes on one item per `everyMs`, with how many came since the one before it: clients can cause as many as they like.
 */
export const throttle = <Item>(
  pass: (item: Item, count: number) => void,
  everyMs = EVERY_MS,
): ((item: Item, count?: number) => void) => {
  let nextAt = 0;
  let sum = 0;
  return (item, count = 1) => {
    sum += count;
    const now = performance.now();
    if (now < nextAt) return;
    pass(item, sum);
    nextAt = now + everyMs;
    sum = 0;
  };
};
