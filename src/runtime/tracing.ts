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

export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** The options of a new span. */
export interface SpanOptions {
  /** A name of low cardinality. Variable parts belong in the attributes. */
  readonly name: string;
  readonly kind: 'server' | 'client' | 'producer' | 'consumer';
  /**
   * Attributes by OpenTelemetry's semantic conventions; called only if the span is recorded. The attributes must never
   * contain an API key, a parameter of a statement or a body.
   */
  readonly attributes: () => Attributes;
  /**
   * The `traceparent` of the parent. If it is absent, a server or consumer span starts a new trace, and a client or
   * producer span becomes a child of the first active span, with links to the other active spans.
   */
  readonly parent?: string | undefined;
  /** The `traceparent`s of further spans that caused this one. */
  readonly links?: readonly string[];
  /** How long ago the work started. */
  readonly startedAgoMs?: number;
}

/** A piece of work in a trace. */
export interface Span {
  /** The position of the span in its trace, as a W3C `traceparent`. */
  readonly traceparent: string;
  readonly hasEnded: boolean;
  set(attributes: Attributes): void;
  /** @param error the kind of error that ended the work; a value of low cardinality */
  end(error?: string): void;
}

/** Records the work of this process as spans and sends them to a collector. */
export interface Tracing {
  /** @returns undefined if the sampler does not record the span */
  begin(options: SpanOptions): Span | undefined;
  /** Runs `work` with these spans as the active spans, instead of the spans that are active at the call. */
  within<Result>(spans: readonly Span[], work: () => Result): Result;
  /** The active spans that have not ended. */
  active(): readonly Span[];
  /** Sends the spans that have not been sent yet; gives up after a timeout. */
  close(): Promise<void>;
}

/** Undefined if this process does not trace; OpenTelemetry is then not loaded. Set once, at the start of the process. */
export let tracing: Tracing | undefined;

export const setTracing = (opened: Tracing | undefined): void => {
  tracing = opened;
};

/**
 * Runs `work` once for several requests that waited, with the spans that were active when each request began to wait.
 */
export const withSpansOf = <Result>(
  waiting: readonly { readonly spans: readonly Span[] | undefined }[],
  work: () => Result,
): Result =>
  tracing === undefined
    ? work()
    : tracing.within(
        waiting.flatMap(({ spans = [] }) => spans),
        work,
      );

/** The error's code or, without a code, its name, for the attribute `error.type`. */
export const errorTypeOf = (error: unknown): string => {
  const { code, name } = error as { code?: unknown; name?: unknown };
  return typeof code === 'string' ? code : typeof name === 'string' ? name : 'Error';
};

/** Runs `work` with this span as the active span, and ends the span when the work ends. */
export const inSpan = async <Result>(
  tracer: Tracing | undefined,
  span: Span | undefined,
  work: () => Promise<Result>,
): Promise<Result> => {
  if (tracer === undefined || span === undefined) return work();
  try {
    const result = await tracer.within([span], work);
    span.end();
    return result;
  } catch (error) {
    span.end(errorTypeOf(error));
    throw error;
  }
};
