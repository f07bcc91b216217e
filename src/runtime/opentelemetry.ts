import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import {
  diag,
  DiagLogLevel,
  type Link,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Span as Recorded,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  type IdGenerator,
  ParentBasedSampler,
  RandomIdGenerator,
  type Sampler,
  SamplingDecision,
  type SpanExporter,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base';
import type { Config } from './config.js';
import type { WriteLog } from './log-line.js';
import type { Attributes, SpanOptions, Span, Tracing } from './tracing.js';

type Sampling = NonNullable<Config['sampling']>;

/** The shortest time between two log lines about lost spans. */
const WARNING_INTERVAL_MS = 60_000;
/** How long a process that exits waits for the collector to accept the last spans. */
const CLOSE_TIMEOUT_MS = 2_000;

const KINDS = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
};
const NONE: readonly Span[] = [];

/** @param traceparent must be valid */
const contextOf = (traceparent: string): SpanContext => {
  const [, traceId, spanId, flags] = traceparent.split('-') as [string, string, string, string];
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1 };
};

/** Generates random ids. The id of the next trace can be set beforehand, because the sampler needs it first. */
class Ids implements IdGenerator {
  nextTraceId: string | undefined;
  private readonly random = new RandomIdGenerator();

  generateTraceId(): string {
    const id = this.nextTraceId ?? this.random.generateTraceId();
    this.nextTraceId = undefined;
    return id;
  }

  generateSpanId(): string {
    return this.random.generateSpanId();
  }
}

class RecordedSpan implements Span {
  readonly traceparent: string;
  hasEnded = false;
  private readonly began = performance.now();

  /** @param startedAt ms since 1970 */
  constructor(
    readonly recorded: Recorded,
    private readonly startedAt: number,
    startedAgoMs: number,
    private readonly onEnd: () => void,
  ) {
    const { traceId, spanId } = recorded.spanContext();
    this.traceparent = `00-${traceId}-${spanId}-01`;
    this.began -= startedAgoMs;
  }

  set(attributes: Attributes): void {
    this.recorded.setAttributes(attributes);
  }

  end(error?: string): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    if (error !== undefined) this.recorded.setAttribute('error.type', error).setStatus({ code: SpanStatusCode.ERROR });
    // The wall clock may jump, so the duration comes from the monotonic clock.
    this.recorded.end(this.startedAt + performance.now() - this.began);
    this.onEnd();
  }
}

/** Traces with OpenTelemetry's SDK. The active spans are kept in an `AsyncLocalStorage`. */
class OpenTelemetry implements Tracing {
  private readonly storage = new AsyncLocalStorage<readonly Span[]>();
  /** The number of spans that have not ended. While this number is 0, the storage is disabled, which saves CPU time. */
  private openSpans = 0;

  constructor(
    private readonly provider: BasicTracerProvider,
    private readonly sampler: Sampler,
    private readonly ids: Ids,
    private readonly tracer = provider.getTracer('threat-protection'),
  ) {}

  begin({ name, kind, attributes, parent, links = [], startedAgoMs = 0 }: SpanOptions): Span | undefined {
    const hasActiveParent = parent === undefined && (kind === 'client' || kind === 'producer');
    const [first, ...others] = hasActiveParent ? this.active() : NONE;
    const from = parent ?? first?.traceparent;
    const cause = from === undefined ? undefined : contextOf(from);
    const context = cause === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, cause);
    // The sampler is called here, although the SDK would call it too. Otherwise, the additional work of the SDK for a
    // span that is not recorded would cost each request several percent of CPU.
    const traceId = cause?.traceId ?? this.ids.generateTraceId();
    const { decision } = this.sampler.shouldSample(context, traceId, name, KINDS[kind], {}, []);
    if (decision !== SamplingDecision.RECORD_AND_SAMPLED) return undefined;
    if (cause === undefined) this.ids.nextTraceId = traceId;
    const linked = [...others.map(({ traceparent }) => traceparent), ...links].map((each): Link => ({
      context: contextOf(each),
    }));
    const startTime = Date.now() - startedAgoMs;
    const options = { kind: KINDS[kind], attributes: attributes(), links: linked, startTime };
    this.openSpans += 1;
    return new RecordedSpan(this.tracer.startSpan(name, options, context), startTime, startedAgoMs, () => {
      this.openSpans -= 1;
      if (this.openSpans === 0) this.storage.disable();
    });
  }

  within<Result>(spans: readonly Span[], work: () => Result): Result {
    const needsNoStorage = this.openSpans === 0 || (spans.length === 0 && this.storage.getStore() === undefined);
    return needsNoStorage ? work() : this.storage.run(spans, work);
  }

  active(): readonly Span[] {
    const spans = this.openSpans === 0 ? undefined : this.storage.getStore();
    return spans === undefined ? NONE : spans.filter(({ hasEnded }) => !hasEnded);
  }

  async close(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => (timer = setTimeout(resolve, CLOSE_TIMEOUT_MS)));
    await Promise.race([this.provider.shutdown(), timeout]).catch(() => {});
    clearTimeout(timer);
  }
}

/** Logs at most one warning per minute and drops all other warnings. */
const rateLimited = (writeLog: WriteLog): ((message: string) => void) => {
  let nextAt = 0;
  return (message) => {
    const now = performance.now();
    if (now < nextAt) return;
    nextAt = now + WARNING_INTERVAL_MS;
    writeLog(message, 'warn');
  };
};

/** Wraps an exporter so that a failure loses the spans, logs a warning and has no other effect. */
const withoutFailures = (exporter: SpanExporter, warn: (message: string) => void): SpanExporter => ({
  export: (spans, done) =>
    exporter.export(spans, ({ code, error }) => {
      if (code !== 0)
        warn(`Spans are lost because the collector did not accept them: ${error?.message ?? 'no reason given'}`);
      done({ code: 0 });
    }),
  shutdown: () => exporter.shutdown(),
});

/** Returns the SDK's sampler for the settings. */
const samplerOf = ({ sampler, share }: Sampling): Sampler => {
  const root = sampler.endsWith('always_on')
    ? new AlwaysOnSampler()
    : sampler.endsWith('always_off')
      ? new AlwaysOffSampler()
      : new TraceIdRatioBasedSampler(share);
  return sampler.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root;
};

/** @param name the service name, unless OTEL_SERVICE_NAME is set */
export const startOpenTelemetry = (name: string, sampling: Sampling, writeLog: WriteLog): Tracing => {
  const warn = rateLimited(writeLog);
  const log = (message: string): void => warn(`OpenTelemetry: ${message}`);
  diag.setLogger({ error: log, warn: log, info: () => {}, debug: () => {}, verbose: () => {} }, DiagLogLevel.WARN);
  const own = resourceFromAttributes({ 'service.name': name, 'service.instance.id': randomUUID() });
  const resource = defaultResource()
    .merge(own)
    .merge(detectResources({ detectors: [envDetector] }));
  const processor = new BatchSpanProcessor(withoutFailures(new OTLPTraceExporter(), warn));
  const [sampler, idGenerator] = [samplerOf(sampling), new Ids()];
  const provider = new BasicTracerProvider({ resource, sampler, idGenerator, spanProcessors: [processor] });
  return new OpenTelemetry(provider, sampler, idGenerator);
};
