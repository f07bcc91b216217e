/** Bytes, unless a route sets another limit. */
export const BODY_LIMIT = 64 * 1024;
/** Bytes. Node itself rejects requests whose URL and headers together exceed 16 KiB. */
export const MAX_URI_LENGTH = 8 * 1024;
/** Concurrent bytes of bodies per key: two of the largest. */
export const MAX_BYTES_OF_KEY = 16 * 1024 * 1024;
/** Concurrent bytes of bodies in total. What is parsed from them takes several times as much memory. */
export const MAX_BYTES_IN_ALL = 96 * 1024 * 1024;
