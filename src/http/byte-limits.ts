import type { ByteLimits } from '../flow/byte-budget.js';

const MiB = 1024 * 1024;

/** Bytes, unless a route sets another limit. */
export const BODY_LIMIT = 64 * 1024;
/** Bytes. Node itself rejects requests whose URL and headers together exceed 16 KiB. */
export const MAX_URI_LENGTH = 8 * 1024;
/** Bodies being received or processed. What is parsed from them takes several times as much memory. */
export const BODIES: ByteLimits = {
  name: 'request bodies',
  // Two of the largest.
  each: 16 * MiB,
  all: 96 * MiB,
  small: BODY_LIMIT,
  keptForSmall: 16 * MiB,
};
/** Answers until their clients have read them. */
export const ANSWERS: ByteLimits = {
  name: 'unread answers',
  each: 16 * MiB,
  all: 40 * MiB,
  small: 64 * 1024,
  keptForSmall: 8 * MiB,
};

/** Of a request about up to 1,000 contents of 4,096 characters each, with room for unknown fields. */
export const BULK = { bodyLimit: 5 * 1024 * 1024, json: { depth: 32, values: 4_096 } } as const;
