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
import type { Config } from '../runtime/config.js';
import type { WriteLog } from '../runtime/log-line.js';
import type { Attributes, SpanOptions, Span, Tracing } from './tracing.js';

type Sampling = NonNullable<Config['sampling']>;

/** How often the operator is told that spans do not arrive. ms */
const TOLD_EVERY_MS = 60_000;
/** What a process that ends gives the collector to take the last spans. ms */
const LAST_SPANS_MS = 2_000;

const KINDS = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
};
const NONE: readonly Span[] = [];

/** @param traceparent a valid one */
const contextOf = (traceparent: string): SpanContext => {
  const [, traceId, spanId, flags] = traceparent.split('-') as [string, string, string, string];
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1 };
};

/** Makes random ids, of the next trace ahead if it is asked to. */
class Ids implements IdGenerator {
  next: string | undefined;
  private readonly random = new RandomIdGenerator();

  generateTraceId(): string {
    const id = this.next ?? this.random.generateTraceId();
    this.next = undefined;
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
    ago: number,
    private readonly onEnd: () => void,
  ) {
    const { traceId, spanId } = recorded.spanContext();
    this.traceparent = `00-${traceId}-${spanId}-01`;
    this.began -= ago;
  }

  set(attributes: Attributes): void {
    this.recorded.setAttributes(attributes);
  }

  end(error?: string): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    if (error !== undefined) this.recorded.setAttribute('error.type', error).setStatus({ code: SpanStatusCode.ERROR });
    // Clocks are set; what has passed since is not.
    this.recorded.end(this.startedAt + performance.now() - this.began);
    this.onEnd();
  }
}

/** OpenTelemetry's SDK, with the spans that work is done within kept by Node. */
class OpenTelemetry implements Tracing {
  private readonly storage = new AsyncLocalStorage<readonly Span[]>();
  /** Spans that have not ended. While there are none, Node need not follow what belongs to what. */
  private open = 0;

  constructor(
    private readonly provider: BasicTracerProvider,
    private readonly sampler: Sampler,
    private readonly ids: Ids,
    private readonly tracer = provider.getTracer('threat-protection'),
  ) {}

  begin({ name, kind, attributes, parent, links = [], ago = 0 }: SpanOptions): Span | undefined {
    const isWithin = parent === undefined && (kind === 'client' || kind === 'producer');
    const [first, ...others] = isWithin ? this.active() : NONE;
    const from = parent ?? first?.traceparent;
    const cause = from === undefined ? undefined : contextOf(from);
    const context = cause === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, cause);
    // Asked first, as the SDK would: what it does for a span that is not recorded costs a request some percent.
    const traceId = cause?.traceId ?? this.ids.generateTraceId();
    const { decision } = this.sampler.shouldSample(context, traceId, name, KINDS[kind], {}, []);
    if (decision !== SamplingDecision.RECORD_AND_SAMPLED) return undefined;
    if (cause === undefined) this.ids.next = traceId;
    const linked = [...others.map(({ traceparent }) => traceparent), ...links].map((each): Link => ({
      context: contextOf(each),
    }));
    const startTime = Date.now() - ago;
    const options = { kind: KINDS[kind], attributes: attributes(), links: linked, startTime };
    this.open += 1;
    return new RecordedSpan(this.tracer.startSpan(name, options, context), startTime, ago, () => {
      this.open -= 1;
      if (this.open === 0) this.storage.disable();
    });
  }

  within<Result>(spans: readonly Span[], work: () => Result): Result {
    const isForNone = this.open === 0 || (spans.length === 0 && this.storage.getStore() === undefined);
    return isForNone ? work() : this.storage.run(spans, work);
  }

  active(): readonly Span[] {
    const spans = this.open === 0 ? undefined : this.storage.getStore();
    return spans === undefined ? NONE : spans.filter(({ hasEnded }) => !hasEnded);
  }

  async close(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, LAST_SPANS_MS)));
    await Promise.race([this.provider.shutdown(), late]).catch(() => {});
    clearTimeout(timer);
  }
}

/** Passes on at most one sentence a minute. */
const seldom = (writeLog: WriteLog): ((sentence: string) => void) => {
  let nextAt = 0;
  return (sentence) => {
    const now = performance.now();
    if (now < nextAt) return;
    nextAt = now + TOLD_EVERY_MS;
    writeLog(sentence, 'warn');
  };
};

/** An exporter whose failures the operator is told of, seldom: the spans are lost, and nothing else. */
const tolerant = (exporter: SpanExporter, warn: (sentence: string) => void): SpanExporter => ({
  export: (spans, done) =>
    exporter.export(spans, ({ code, error }) => {
      if (code !== 0) warn(`Spans do not reach the collector and are lost: ${error?.message ?? 'it refused them'}`);
      done({ code: 0 });
    }),
  shutdown: () => exporter.shutdown(),
});

/** The SDK's own sampler of this name. */
const samplerOf = ({ sampler, share }: Sampling): Sampler => {
  const root = sampler.endsWith('always_on')
    ? new AlwaysOnSampler()
    : sampler.endsWith('always_off')
      ? new AlwaysOffSampler()
      : new TraceIdRatioBasedSampler(share);
  return sampler.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root;
};

/** @param name of the process, unless OTEL_SERVICE_NAME names it */
export const startOpenTelemetry = (name: string, sampling: Sampling, writeLog: WriteLog): Tracing => {
  const warn = seldom(writeLog);
  const log = (message: string): void => warn(`OpenTelemetry: ${message}`);
  diag.setLogger({ error: log, warn: log, info: () => {}, debug: () => {}, verbose: () => {} }, DiagLogLevel.WARN);
  const own = resourceFromAttributes({ 'service.name': name, 'service.instance.id': randomUUID() });
  const resource = defaultResource()
    .merge(own)
    .merge(detectResources({ detectors: [envDetector] }));
  const processor = new BatchSpanProcessor(tolerant(new OTLPTraceExporter(), warn));
  const [sampler, idGenerator] = [samplerOf(sampling), new Ids()];
  const provider = new BasicTracerProvider({ resource, sampler, idGenerator, spanProcessors: [processor] });
  return new OpenTelemetry(provider, sampler, idGenerator);
};
