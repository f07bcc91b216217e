import { CATEGORIES, API_KEYS_STREAM, OPERATIONS_STREAM } from '../events/streams.js';

const WHOLE_NAMES: ReadonlySet<string> = new Set([API_KEYS_STREAM, OPERATIONS_STREAM]);
const OUR_CATEGORIES: ReadonlySet<string> = new Set(CATEGORIES);

/** Whether a stream is this service's. The store filters by prefix, which lets `operations-of-others` through. */
export const isOurs = (stream: string): boolean => {
  const dash = stream.indexOf('-');
  return dash < 0 ? WHOLE_NAMES.has(stream) : OUR_CATEGORIES.has(stream.slice(0, dash));
};
