/** In bytes, where a route names no other. */
export const BODY_LIMIT = 64 * 1024;
/** In bytes. Node itself ends requests whose address and headers together pass 16 KiB. */
export const MAX_URI_LENGTH = 8 * 1024;
/** Bytes of bodies at once with one key: two of the largest. */
export const MAX_BYTES_OF_KEY = 16 * 1024 * 1024;
/** Bytes of bodies at once in all. What is made of them takes a few times as much memory. */
export const MAX_BYTES_IN_ALL = 96 * 1024 * 1024;
