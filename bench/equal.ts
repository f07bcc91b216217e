import { inspect, isDeepStrictEqual } from 'node:util';

/** Checks that both variants return the same result, before they are timed. @throws Error if the results differ */
export const requireEqual = (what: string, base: unknown, target: unknown): void => {
  if (isDeepStrictEqual(base, target)) return;
  const show = (value: unknown): string => inspect(value, { depth: null, breakLength: Infinity }).slice(0, 400);
  throw new Error(`${what}: the results differ\nbase   ${show(base)}\ntarget ${show(target)}`);
};
