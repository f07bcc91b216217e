import { isDeepStrictEqual } from 'node:util';

/** Checks that two variants give the same result, before either is timed. */
export const requireEqual = (what: string, base: unknown, target: unknown): void => {
  if (isDeepStrictEqual(base, target)) return;
  const show = (value: unknown): string => JSON.stringify(value).slice(0, 400);
  throw new Error(`${what}: the results differ\nbase   ${show(base)}\ntarget ${show(target)}`);
};
