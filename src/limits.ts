/**
 * How a module declares a limit. A new limit is a constant beside the code that enforces it, declared by `limit`; the pages
 * of limits have a row for each.
 */

/** Each of these has its own allowance: an organization, or a minute of a key. */
type Shared = 'process' | 'organization' | 'key' | 'organization and day' | 'key and minute' | 'address and minute' | 'source';
type Scope = Shared | 'address' | 'connection' | 'webhook' | 'list' | 'request' | 'event' | 'value';

/** A limit as `docs/reference/limits.md` and `docs/internals/waiting.md` print it. */
export interface Limit {
  /** What is limited. */
  readonly name: string;
  /** A text names the setting that has the value. */
  readonly value: number | string;
  /** The plural noun for what is counted; `ms` and `bytes` are printed in larger units. */
  readonly unit: string;
  readonly scope: Scope;
  /** What happens beyond the limit, beginning with the status if a request fails. */
  readonly beyond: string;
}

/** Every limit of the modules that have been imported, in the order of their declarations. */
export const LIMITS: Limit[] = [];

/** @param beyond what happens beyond the limit; a status if a request fails */
type Terms = readonly [unit: string, scope: Scope, beyond: string];

/** Declares a limit whose value is a setting. */
export const limitBySetting = (name: string, value: number | string, ...[unit, scope, beyond]: Terms): void => {
  if (LIMITS.some((other) => other.name === name && other.unit === unit && other.scope === scope))
    throw new Error(`The limit of ${unit} per ${scope} is declared twice: ${name}`);
  LIMITS.push({ name, value, unit, scope, beyond });
};

/**
 * Declares a limit where its module defines it, so that the pages of limits have a row of it.
 * @returns the value
 * @throws Error if the limit has been declared before, as by a declaration in a function
 */
export const limit = (name: string, value: number, ...terms: Terms): number => {
  limitBySetting(name, value, ...terms);
  return value;
};
