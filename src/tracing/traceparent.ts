/**
 * W3C Trace Context: version, trace id, parent id and flags, 55 characters; the version not ff, the ids not all zeros.
 */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const TRACE_ID = { begin: 3, end: 35 };

/** A value that is to be a `traceparent`; undefined if missing or invalid, because tracing must not reject anything. */
export const traceparentOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value.length === 55 && TRACEPARENT.test(value) ? value : undefined;

/** @param traceparent a valid one */
export const traceIdOf = (traceparent: string): string => traceparent.slice(TRACE_ID.begin, TRACE_ID.end);

/** Whether the trace of a valid `traceparent` is recorded by who wrote it. */
export const isSampled = (traceparent: string): boolean => /[13579bdf]$/.test(traceparent);
