import { MS_PER_DAY } from '../../events/instant.js';
import { TooManyRequests } from './error-response.js';

/**
 * The rejection for an organization that has used up its quota of the UTC day; Retry-After is the time until midnight.
 * @param of what was used up: events, bytes
 */
export const quotaUsed = (organization: string, limit: number, of: string): TooManyRequests =>
  new TooManyRequests(
    Math.ceil((MS_PER_DAY - (Date.now() % MS_PER_DAY)) / 1_000),
    `${organization} has used its quota of ${limit} ${of} per day; it resets at midnight UTC`,
  );
