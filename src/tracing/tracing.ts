export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** What is to be traced. */
export interface SpanOptions {
  /** One of few: what differs from one to the next is an attribute. */
  readonly name: string;
  readonly kind: 'server' | 'client' | 'producer' | 'consumer';
  /** By OpenTelemetry's semantic conventions, asked for if it is recorded. Never a key, a value of a statement or a body. */
  readonly attributes: () => Attributes;
  /**
   * The `traceparent` of what caused it. Absent: for a server or consumer, nothing that is known of; for a client or
   * producer, the first of the spans that it is begun within, and it is linked to the others.
   */
  readonly parent?: string | undefined;
  /** The `traceparent`s of what it is done for besides. */
  readonly links?: readonly string[];
  /** How long ago it began. ms */
  readonly ago?: number;
}

/** A piece of work in a trace. */
export interface Span {
  /** Its place, as W3C Trace Context writes it. */
  readonly traceparent: string;
  readonly hasEnded: boolean;
  set(attributes: Attributes): void;
  /** @param error what kind of error it ended with, one of few */
  end(error?: string): void;
}

/** Records what this process does, and sends it to a collector. */
export interface Tracing {
  /** @returns undefined if the sampler passes it over */
  begin(beginning: SpanOptions): Span | undefined;
  /** Does work on behalf of these spans, or of none, whatever it is called within. */
  within<Result>(spans: readonly Span[], work: () => Result): Result;
  /** The spans that this is called within and that have not ended. */
  active(): readonly Span[];
  /** Sends what has not been sent yet, or gives it up. */
  close(): Promise<void>;
}

/** Undefined unless this process traces: then nothing of OpenTelemetry has been loaded. Set once, before anything else. */
export let tracing: Tracing | undefined;

export const setTracing = (one: Tracing | undefined): void => {
  tracing = one;
};

/** Does at once what has waited on behalf of the spans that were active when each began to wait. */
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

/** The name of an error, as spans have it. */
export const errorTypeOf = (error: unknown): string => {
  const { code, name } = error as { code?: unknown; name?: unknown };
  return typeof code === 'string' ? code : typeof name === 'string' ? name : 'Error';
};

/** Does the work of a span, which ends with it. */
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
