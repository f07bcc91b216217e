/** W3C Trace Context: version, trace id, parent id and flags. The version must not be ff, and no id may be all zeros. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const TRACE_ID = { begin: 3, end: 35 };

/** Returns the value if it is a valid `traceparent`; otherwise undefined, because tracing must not reject a request. */
export const traceparentOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value.length === 55 && TRACEPARENT.test(value) ? value : undefined;

/** @param traceparent must be valid */
export const traceIdOf = (traceparent: string): string => traceparent.slice(TRACE_ID.begin, TRACE_ID.end);

/** Whether the sender of a valid `traceparent` records the trace. */
export const isSampled = (traceparent: string): boolean => /[13579bdf]$/.test(traceparent);
