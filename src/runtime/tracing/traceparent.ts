/**
 * W3C Trace Context: version, trace id, parent id and flags. The version must not be ff, and no id may be all zeros. A
 * version after 00 may have further fields.
 */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-((?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2})(-.*)?$/;
const TRACE_ID = { begin: 3, end: 35 };

/**
 * Returns a `traceparent` of version 00 with the fields of the value, if the value is a valid `traceparent` of this or a
 * later version; otherwise undefined, because tracing must not reject a request.
 */
export const traceparentOf = (value: unknown): string | undefined => {
  const [, version, fields, further] = (typeof value === 'string' && TRACEPARENT.exec(value)) || [];
  return fields === undefined || (version === '00' && further !== undefined) ? undefined : `00-${fields}`;
};

/** @param traceparent must be valid */
export const traceIdOf = (traceparent: string): string => traceparent.slice(TRACE_ID.begin, TRACE_ID.end);

/** Whether the sender of a valid `traceparent` records the trace. */
export const isSampled = (traceparent: string): boolean => /[13579bdf]$/.test(traceparent);
