import { Invalid } from '../errors.js';
import { dayOf, parseInstant } from '../events/instant.js';

/**
 * Reads a UTC day, `YYYY-MM-DD`, as days since 1970.
 * @throws Invalid
 */
export const readDay = (name: string, text: string): number => {
  const instant = /^\d{4}-\d\d-\d\d$/.test(text) ? parseInstant(`${text}T00:00:00Z`) : undefined;
  if (instant === undefined) throw new Invalid(`${name} must be a UTC day, such as 2026-03-01`);
  return dayOf(instant);
};
