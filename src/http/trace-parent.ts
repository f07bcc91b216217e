/**
 * W3C Trace Context: version, trace id, parent id and flags, 55 characters; the version not ff, the ids not all zeros.
 */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const TRACE_ID = { begin: 3, end: 35 };

/** The caller's `traceparent`; undefined if missing or invalid, because tracing must not reject a request. */
export const traceparentOf = (header: string | readonly string[] | undefined): string | undefined =>
  typeof header === 'string' && header.length === 55 && TRACEPARENT.test(header) ? header : undefined;

/** @param traceparent a valid one */
export const traceIdOf = (traceparent: string): string => traceparent.slice(TRACE_ID.begin, TRACE_ID.end);
