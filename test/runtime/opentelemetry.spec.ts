import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { diag } from '@opentelemetry/api';
import { startOpenTelemetry } from '../../src/runtime/opentelemetry.js';
import { readConfig } from '../../src/runtime/config.js';
import type { SpanOptions, Span, Tracing } from '../../src/runtime/tracing.js';
import { eventually } from '../support/eventually.js';
import { Collector } from './tracing/collector.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const traceparentWithFlags = (flags: string): string => `00-${TRACE}-00f067aa0ba902b7-${flags}`;
const client = (name: string, more: Partial<SpanOptions> = {}): SpanOptions => ({
  name,
  kind: 'client',
  attributes: () => ({}),
  ...more,
});

let collector: Collector;
const before = process.env;

beforeAll(async () => {
  collector = new Collector();
  process.env = { ...before, OTEL_EXPORTER_OTLP_ENDPOINT: await collector.start() };
});
afterAll(async () => {
  process.env = before;
  await collector.stop();
});
beforeEach(() => void (collector.spans.length = 0));

const opened = (settings: NodeJS.ProcessEnv = {}, writeLog: (sentence: string) => void = () => {}): Tracing => {
  const previousEnv = process.env;
  process.env = { ...previousEnv, ...settings };
  // OpenTelemetry would warn about a second logger in one process.
  diag.disable();
  try {
    return startOpenTelemetry('a-process', readConfig().sampling!, writeLog);
  } finally {
    process.env = previousEnv;
  }
};
const received = async (tracing: Tracing) => {
  await tracing.close();
  return Object.fromEntries(collector.spans.map((span) => [span.name, span]));
};

describe('within', () => {
  it('makes new client spans children of the first active span, with links to the others, also after a wait', async () => {
    const tracing = opened();
    const spans = ['one', 'two'].map((name) => tracing.begin(client(name))!);
    await tracing.within(spans, async () => {
      await new Promise(setImmediate);
      tracing.begin(client('both'))!.end();
      tracing.within([], () => tracing.begin(client('neither'))!.end());
      // A server span is caused by a caller outside this process, so it is not a child of the active spans.
      tracing.begin({ ...client('asked'), kind: 'server' })!.end();
    });
    for (const span of spans) span.end();
    const { one, two, both, neither, asked } = await received(tracing);
    expect(both).toMatchObject({ traceId: one!.traceId, parentSpanId: one!.spanId });
    expect(both!.links).toEqual([{ traceId: two!.traceId, spanId: two!.spanId }]);
    for (const alone of [neither, asked]) expect(alone).toMatchObject({ parentSpanId: '', links: [] });
  });

  it('ignores spans that have ended', async () => {
    const tracing = opened();
    const span = tracing.begin(client('first'))!;
    await tracing.within([span], async () => {
      expect(tracing.active()).toEqual([span]);
      span.end();
      expect(tracing.active()).toEqual([]);
    });
    await tracing.close();
  });
});

describe('A span', () => {
  it('starts `startedAgoMs` before now, and ends only once, with its error', async () => {
    const tracing = opened({ OTEL_SERVICE_NAME: 'their-name' });
    const span = tracing.begin(client('late', { startedAgoMs: 5_000 }))!;
    span.end('23505');
    span.end();
    const { late } = await received(tracing);
    expect(late).toMatchObject({ service: 'their-name', status: 2, attributes: { 'error.type': '23505' } });
    expect(late!.end - late!.start).toBeGreaterThanOrEqual(5_000_000_000n);
  });

  it.each([
    ['is not recorded if its caller does not record the trace', {}, traceparentWithFlags('00'), false],
    ['is recorded if its caller records the trace', {}, traceparentWithFlags('01'), true],
    [
      'is not recorded if the sampler of the settings is always_off, even if its caller records the trace',
      { OTEL_TRACES_SAMPLER: 'always_off' },
      traceparentWithFlags('01'),
      false,
    ],
    ['is recorded if it starts a trace', {}, undefined, true],
    [
      'is not recorded if the sampled share is 0',
      { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' },
      undefined,
      false,
    ],
  ])('%s', async (_, settings, parent, isRecorded) => {
    const tracing = opened(settings);
    const span: Span | undefined = tracing.begin(client('sampled', { parent }));
    expect(span !== undefined).toBe(isRecorded);
    if (span !== undefined && parent !== undefined) expect(span.traceparent).toMatch(new RegExp(`^00-${TRACE}-`));
    await tracing.close();
  });
});

describe('A collector', () => {
  afterEach(() => void Object.assign(collector, { status: 200, isSilent: false }));

  it.each([
    ['is unreachable', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }, 200],
    ['rejects the spans', {}, 400],
  ])('that %s causes one log line, however many spans are lost', async (_, settings, status) => {
    collector.status = status;
    const logLines: string[] = [];
    const frequentExports = { OTEL_BSP_SCHEDULE_DELAY: '10', OTEL_EXPORTER_OTLP_TIMEOUT: '100' };
    const tracing = opened({ ...frequentExports, ...settings }, (sentence) => logLines.push(sentence));
    tracing.begin(client('lost'))!.end();
    await eventually('the loss is logged', () => logLines.length > 0);
    tracing.begin(client('lost too'))!.end();
    await tracing.close();
    expect(logLines).toEqual([expect.stringMatching(/^Spans are lost because the collector did not accept them: /)]);
  });

  it('that never responds does not keep the process from exiting', async () => {
    collector.isSilent = true;
    const before = collector.bodies.length;
    // Longer than the timeout of a test, so only our own timeout can end the wait.
    const longTimeouts = { OTEL_EXPORTER_OTLP_TIMEOUT: '900000', OTEL_BSP_EXPORT_TIMEOUT: '900000' };
    const tracing = opened(longTimeouts);
    tracing.begin(client('last'))!.end();
    await tracing.close();
    expect(collector.bodies).toHaveLength(before + 1);
  });
});
