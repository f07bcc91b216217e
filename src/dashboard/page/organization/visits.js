import { tryStorage } from '../key.js';

/** A visit ends when the page has not been refreshed for this long, so that a reload is still the same visit. */
const GAP_MS = 4 * 3_600_000;
const nameOf = (slug) => `threat-protection-visit:${slug}`;

/** Returns a stored instant; undefined if it is none, or not in the past. */
const instantOf = (text) => {
  const ms = Date.parse(text);
  return ms > 0 && ms < Date.now() ? new Date(ms).toISOString() : undefined;
};

/** Returns when the visit before this one ended; undefined if this browser has not shown the organization before. */
export const lastVisit = (slug) => {
  const [since, seen] = (tryStorage(() => localStorage.getItem(nameOf(slug))) ?? '').split(' ').map(instantOf);
  return Date.now() - Date.parse(seen) > GAP_MS ? seen : since;
};

/** Keeps, in this browser only, when the last visit ended, and up to when this visit has seen the records. */
export const keepVisit = (slug, since, seen) =>
  tryStorage(() => localStorage.setItem(nameOf(slug), `${since ?? ''} ${seen}`));
