/** In bytes, where a route names no other. */
export const BODY_LIMIT = 64 * 1024;
/** In bytes. Node itself ends requests whose address and headers together pass 16 KiB. */
export const LONGEST_URI = 8 * 1024;
