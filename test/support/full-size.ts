/** Whether the tests run at full size, as in `npm run test:release`. */
export const IS_FULL_SIZE = 'IS_FULL_SIZE' in globalThis;

/** Returns the ordinary size of a random or large test, or its full size, which `npm run test:release` uses. */
export const sized = (ordinary: number, full: number): number => (IS_FULL_SIZE ? full : ordinary);

/** Returns the seeds 1 to `ordinary`, or to `full` at full size. */
export const seeds = (ordinary: number, full: number): number[] =>
  Array.from({ length: sized(ordinary, full) }, (_, n) => n + 1);
