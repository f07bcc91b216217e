import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { operatorCall } from '../../support/operator-call.js';
import { eventually } from '../../support/eventually.js';
import { createDatabase, type TestDatabase } from '../../support/postgres.js';
import { type Program, startProgram } from '../../support/program.js';
import { cloudEvent, sentThreat } from '../../support/upstream.js';
import { Collector } from '../../runtime/tracing/collector.js';
import type { ReceivedSpan } from '../../runtime/tracing/otlp.js';

const TIMEOUT_MS = 120_000;
const [SERVER, CLIENT, PRODUCER, CONSUMER] = [2, 3, 4, 5];
const EVENTS = '/v2/events';
const METRICS = '/v2/organization/metrics';
const CALLERS = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };

let folder: string;
let database: TestDatabase;
let collector: Collector;
let endpoint: string;
const programs: Program[] = [];

const killPrograms = async (): Promise<void> => {
  for (const program of programs.splice(0)) await program.stop('SIGKILL');
};

beforeAll(async () => {
  database = await createDatabase();
  folder = mkdtempSync(join(tmpdir(), 'tracing-'));
  collector = new Collector();
  endpoint = await collector.start();
});
afterAll(async () => {
  await killPrograms();
  await collector.stop();
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

const start = (program: 'src/main.js' | 'projections/main.js', settings: NodeJS.ProcessEnv): Program => {
  const env = { DATABASE_URL: database.url, DATA_DIR: folder, PORT: '0', EVENTSTORE_URL: '', ...settings };
  const started = startProgram(program, [], { env });
  programs.push(started);
  return started;
};

const issue = async (...scope: string[]): Promise<string> => {
  const { out } = await operatorCall(
    { DATABASE_URL: database.url, DATA_DIR: folder },
    'keys',
    'issue',
    ...scope,
    '--json',
  );
  return (JSON.parse(out) as { key: string }).key;
};

const post = (url: string, key: string, events: readonly unknown[], headers: Record<string, string> = {}) =>
  eventually('the key is known', async () => {
    const type = 'application/cloudevents-batch+json';
    const init = { method: 'POST', headers: { 'x-api-key': key, 'content-type': type, ...headers } };
    return (await fetch(url + EVENTS, { ...init, body: JSON.stringify(events) })).ok;
  });

const isWithin = (child: ReceivedSpan, parent: ReceivedSpan): boolean =>
  child.traceId === parent.traceId && child.parentSpanId === parent.spanId;

describe('A collector', () => {
  let projector: Program;
  let api: Program;
  let url: string;
  let ingest: string;
  let read: string;

  beforeAll(async () => {
    // Spans are exported often, so that the spec need not wait. All other settings have their defaults.
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_BSP_SCHEDULE_DELAY: '100' };
    projector = start('projections/main.js', env);
    api = start('src/main.js', env);
    url = await api.listening();
    ingest = await issue('--scope', 'ingest');
    read = await issue('--scope', 'read', '--organization', 'acme');
  }, TIMEOUT_MS);
  afterAll(killPrograms);

  it(
    'receives the work on an event in the trace in which it was produced, if its request named none',
    async () => {
      const producer = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
      const traceparent = `00-${producer.traceId}-${producer.spanId}-01`;
      await post(url, ingest, [{ ...cloudEvent(sentThreat('produced', { organization: 'other' })), traceparent }]);
      await eventually('the projector works in the trace of the producer', () =>
        collector
          .named('process log')
          .some(({ traceId, parentSpanId }) => traceId === producer.traceId && parentSpanId === producer.spanId),
      );
    },
    TIMEOUT_MS,
  );

  // The last test of the two processes, because it stops them.
  it(
    'receives one trace from POST /v2/events to the rows, without keys, values or bodies',
    async () => {
      const asset = { type: 'URL', content: 'https://in-no-span.example/login' };
      const traceparent = `00-${CALLERS.traceId}-${CALLERS.spanId}-01`;
      await post(url, ingest, [cloudEvent(sentThreat('in-no-span-either', { asset }, 'event-1'))], { traceparent });
      const counted = async (): Promise<boolean> => {
        const answer = await fetch(`${url}${METRICS}?startDate=2001-02-03`, { headers: { 'x-api-key': read } });
        return ((await answer.json()) as { metrics?: { newThreats: number } }).metrics?.newThreats === 1;
      };
      await eventually('the metrics count the event', counted);
      await eventually('the collector has the span of the batch', () =>
        collector.named('process log').some(({ traceId }) => traceId === CALLERS.traceId),
      );
      // Only the end of a process waits until its spans are exported.
      expect(await Promise.all([api.stop(), projector.stop()])).toEqual([0, 0]);

      const request = collector.named(`POST ${EVENTS}`).find(({ traceId }) => traceId === CALLERS.traceId)!;
      expect(request).toMatchObject({
        service: 'threat-protection-api',
        kind: SERVER,
        parentSpanId: CALLERS.spanId,
        status: 0,
        attributes: {
          'http.request.method': 'POST',
          'http.route': EVENTS,
          'http.response.status_code': 200,
          'url.path': EVENTS,
          'url.scheme': 'http',
        },
      });
      const append = collector.named('append log').find((span) => isWithin(span, request))!;
      expect(append).toMatchObject({
        kind: PRODUCER,
        attributes: {
          'messaging.system': 'postgresql',
          'messaging.operation.type': 'send',
          'messaging.batch.message_count': 1,
          'cloudevents.event_type': 'ThreatStatusChanged',
          'cloudevents.event_id': 'event-1',
          'cloudevents.event_source': 'urn:test:upstream',
        },
      });
      const statement = collector.spans.find((span) => isWithin(span, append))!;
      expect(statement).toMatchObject({
        name: 'log-append',
        kind: CLIENT,
        attributes: { 'db.system.name': 'postgresql', 'db.query.summary': 'log-append', 'db.operation.name': 'SELECT' },
      });
      expect(statement.attributes['db.namespace']).toBe(new URL(database.url).pathname.slice(1));
      const batches = collector.named('process log').filter((span) => isWithin(span, request));
      expect(batches).toHaveLength(1);
      for (const batch of batches) {
        expect(batch).toMatchObject({ service: 'threat-protection-projector', kind: CONSUMER, status: 0 });
        expect(batch.links).toEqual([{ traceId: request.traceId, spanId: request.spanId }]);
        const statements = collector.spans.filter((span) => isWithin(span, batch)).map(({ name }) => name);
        expect(statements).toEqual(expect.arrayContaining(['BEGIN', 'COMMIT']));
        for (const { start, end } of [batch, request, append, statement]) expect(end).toBeGreaterThanOrEqual(start);
      }
      const metricsSpan = collector.named(`GET ${METRICS}`)[0]!;
      expect(collector.spans.filter((span) => isWithin(span, metricsSpan)).map(({ name }) => name)).not.toEqual([]);

      expect(collector.paths).toEqual(new Set(['/v1/traces']));
      const text = Buffer.concat(collector.bodies).toString('latin1');
      for (const secret of [ingest, read, 'in-no-span', 'startDate', '2001-02-03', 'acme', 'select ', 'insert '])
        expect({ secret, isIn: text.includes(secret) }).toEqual({ secret, isIn: false });
    },
    TIMEOUT_MS,
  );
});

/** Records each module that a process imports. */
const RECORDER = `
import { appendFileSync } from 'node:fs';
import { createRequire, register } from 'node:module';
const { cache } = createRequire(import.meta.url);
process.on('exit', () => appendFileSync(process.env.IMPORTED, Object.keys(cache).join('\\n')));
register('data:text/javascript,' + encodeURIComponent(\`
  import { appendFileSync } from 'node:fs';
  export const load = async (url, context, next) => {
    appendFileSync(process.env.IMPORTED, url + '\\\\n');
    return next(url, context);
  };
\`));
`;

describe('A process', () => {
  /** Returns the modules that a process loads until it works. */
  const importedBy = async (
    program: 'src/main.js' | 'projections/main.js',
    settings: NodeJS.ProcessEnv,
  ): Promise<string[]> => {
    const [recorder, imported] = [join(folder, 'recorder.mjs'), join(folder, 'imported')];
    writeFileSync(recorder, RECORDER);
    writeFileSync(imported, '');
    const env = { NODE_OPTIONS: `--import=${pathToFileURL(recorder).href}`, IMPORTED: imported, ...settings };
    const started = start(program, env);
    if (program === 'src/main.js') await started.listening();
    else await eventually('the projector works', () => started.output().includes('Lease acquired'));
    await started.stop();
    return readFileSync(imported, 'utf8').split('\n');
  };
  const ofOpenTelemetry = (urls: readonly string[]): string[] => urls.filter((url) => url.includes('opentelemetry'));

  it(
    'loads OpenTelemetry only if a collector is configured and the SDK is not disabled',
    async () => {
      const withCollector = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${endpoint}/v1/traces` };
      expect(ofOpenTelemetry(await importedBy('src/main.js', withCollector))).not.toEqual([]);
      for (const [program, settings] of [
        ['src/main.js', {}],
        ['projections/main.js', { ...withCollector, OTEL_SDK_DISABLED: 'true' }],
      ] as const) {
        const imported = await importedBy(program, settings);
        expect(imported.length).toBeGreaterThan(10);
        expect(ofOpenTelemetry(imported)).toEqual([]);
      }
    },
    TIMEOUT_MS,
  );
});
