import { isDeepStrictEqual } from 'node:util';

/** Nothing is timed before all variants have given the same result. */
export const requireEqual = (what: string, base: unknown, target: unknown): void => {
  if (isDeepStrictEqual(base, target)) return;
  const show = (value: unknown): string => JSON.stringify(value).slice(0, 400);
  throw new Error(`${what}: the results differ\nbase   ${show(base)}\ntarget ${show(target)}`);
};
