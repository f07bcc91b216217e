import { MS_PER_DAY } from '../../events/instant.js';
import { TooManyRequests } from './error-response.js';

/**
 * What an organization is told that has used its quota of the UTC day; Retry-After has the seconds to its end.
 * @param of what it has used: events, bytes
 */
export const quotaUsed = (organization: string, limit: number, of: string): TooManyRequests =>
  new TooManyRequests(
    Math.ceil((MS_PER_DAY - (Date.now() % MS_PER_DAY)) / 1_000),
    `${organization} has used its quota of ${limit} ${of} a day; it begins again at midnight UTC`,
  );
