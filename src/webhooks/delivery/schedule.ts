const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The delay after the first failure, the second, and so on. The last delay repeats. */
const DELAYS_MS = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR] as const;
/** The fraction by which a delay varies at random, so that endpoints that failed together are not retried together. */
const JITTER = 0.2;
/** The longest delay that an endpoint can request with `Retry-After`. */
const MAX_RETRY_AFTER_MS = HOUR;
/** An endpoint is disabled if every attempt has failed for this long. */
export const DISABLE_AFTER_MS = 5 * 24 * HOUR;
/** A record is set aside after the endpoint has rejected it this many times when it was sent alone. */
export const MAX_REJECTIONS = 20;

/** Statuses with which an endpoint rejects the content itself, so that it will probably reject a retry too. */
const REJECTION_STATUSES: ReadonlySet<number | undefined> = new Set([400, 413, 422]);

export const isRejection = (status: number | undefined): boolean => REJECTION_STATUSES.has(status);

/**
 * The delay after a failure, in ms: at least the delay that the endpoint requested, of which at most an hour counts.
 * @param tries failures since the last success, including this one
 * @param retryAfter the delay that the endpoint requested, in ms
 * @param random from 0 to 1
 */
export const delayAfter = (tries: number, retryAfter: number | undefined, random = Math.random()): number => {
  const delay = DELAYS_MS[Math.min(tries, DELAYS_MS.length) - 1]!;
  const withJitter = delay * (1 - JITTER + 2 * JITTER * random);
  return Math.round(Math.max(withJitter, Math.min(retryAfter ?? 0, MAX_RETRY_AFTER_MS)));
};

/**
 * Parses a `Retry-After` header, which has seconds or a date (RFC 9110, 10.2.3).
 * @param now the current time, in ms
 * @returns the delay in ms; undefined if the header is absent or invalid
 */
export const retryAfterOf = (value: string | undefined, now: number): number | undefined => {
  if (value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value) * SECOND;
  const at = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(value) ? Date.parse(value) : NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
};
