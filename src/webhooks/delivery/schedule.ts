const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** After the first failure, the second and so on; after the last of these each time. ms */
const DELAYS = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR] as const;
/** Part of a delay by which it is shortened or lengthened, so that those who failed together do not return together. */
const SPREAD = 0.2;
/** What an endpoint may ask for by `Retry-After`. ms */
const MAX_RETRY_AFTER = HOUR;
/** An endpoint that fails for this long without one success is disabled. ms */
export const GIVEN_UP_AFTER = 5 * 24 * HOUR;
/** A record that was refused as often as this when it was sent alone is set aside. */
export const REFUSED_AT_MOST = 20;

/** Answers that say that the content will not do, however often it is sent. */
const REFUSALS: ReadonlySet<number | undefined> = new Set([400, 413, 422]);

export const isRefusal = (status: number | undefined): boolean => REFUSALS.has(status);

/**
 * How long to wait after a failure, ms: never less than the endpoint asked for, within an hour.
 * @param tries failures since the last success, this one included
 * @param retryAfter ms
 * @param chance from 0 to 1
 */
export const delayAfter = (tries: number, retryAfter: number | undefined, chance = Math.random()): number => {
  const delay = DELAYS[Math.min(tries, DELAYS.length) - 1]!;
  const spread = delay * (1 - SPREAD + 2 * SPREAD * chance);
  return Math.round(Math.max(spread, Math.min(retryAfter ?? 0, MAX_RETRY_AFTER)));
};

/**
 * A `Retry-After` in ms: of seconds, or until a date (RFC 9110, 10.2.3).
 * @returns undefined where there is none that can be read
 */
export const retryAfterOf = (value: string | undefined, now: number): number | undefined => {
  if (value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value) * SECOND;
  const at = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(value) ? Date.parse(value) : NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
};
