import { declareBytes } from '../flow/budgets.js';
import { limit } from '../limits.js';

const MiB = 1024 * 1024;

/** The largest request body in bytes, unless a route sets another limit. */
export const BODY_LIMIT = limit('body, compressed or not', 64 * 1024, 'bytes', 'request', '413');
/** The longest URL in bytes. Node itself rejects requests whose URL and headers together exceed 16 KiB. */
export const MAX_URI_LENGTH = limit('URL', 8 * 1024, 'bytes', 'request', '414');
/** Request bodies that are being received or processed. The parsed content takes several times as much memory. */
export const BODIES = declareBytes({
  name: 'request bodies',
  // Two bodies of the largest size.
  perOwner: 16 * MiB,
  total: 96 * MiB,
  smallSize: BODY_LIMIT,
  reservedForSmall: 16 * MiB,
});
/** Responses that their clients have not read completely. */
export const RESPONSES = declareBytes({
  name: 'unread responses',
  perOwner: 16 * MiB,
  total: 40 * MiB,
  smallSize: 64 * 1024,
  reservedForSmall: 8 * MiB,
});

/** Limits of a request with up to 1,000 contents of 4,096 characters each, with room for unknown fields. */
const BULK_BODY = limit('body of a bulk check or of group members', 5 * MiB, 'bytes', 'request', '413');
export const BULK = { bodyLimit: BULK_BODY, json: { depth: 32, values: 4_096 } } as const;
