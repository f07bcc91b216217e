import type { ByteLimits } from '../flow/budgets.js';

const MiB = 1024 * 1024;

/** The largest request body in bytes, unless a route sets another limit. */
export const BODY_LIMIT = 64 * 1024;
/** The longest URL in bytes. Node itself rejects requests whose URL and headers together exceed 16 KiB. */
export const MAX_URI_LENGTH = 8 * 1024;
/** Request bodies that are being received or processed. The parsed content takes several times as much memory. */
export const BODIES: ByteLimits = {
  name: 'request bodies',
  // Two bodies of the largest size.
  perOwner: 16 * MiB,
  total: 96 * MiB,
  smallSize: BODY_LIMIT,
  reservedForSmall: 16 * MiB,
};
/** Responses that their clients have not read completely. */
export const RESPONSES: ByteLimits = {
  name: 'unread responses',
  perOwner: 16 * MiB,
  total: 40 * MiB,
  smallSize: 64 * 1024,
  reservedForSmall: 8 * MiB,
};

/** Limits of a request with up to 1,000 contents of 4,096 characters each, with room for unknown fields. */
export const BULK = { bodyLimit: 5 * 1024 * 1024, json: { depth: 32, values: 4_096 } } as const;
