const INTERVAL_MS = 1_000;

/**
 * Passes on at most one item per `intervalMs`, with the number of items since the last item that was passed on. Clients
 * can cause any number of items.
 */
export const throttle = <Item>(
  pass: (item: Item, count: number) => void,
  intervalMs = INTERVAL_MS,
): ((item: Item, count?: number) => void) => {
  let nextAt = 0;
  let sum = 0;
  return (item, count = 1) => {
    sum += count;
    const now = performance.now();
    if (now < nextAt) return;
    pass(item, sum);
    nextAt = now + intervalMs;
    sum = 0;
  };
};
