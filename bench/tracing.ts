import { once } from 'node:events';
import { createServer } from 'node:http';
import { CONNECTIONS, ECHO, startServers, watchGenerator } from './route-overhead.js';
import { type Bench, type Goal, measure } from './goal.js';
import { residentMegabytes } from './idle-memory.js';
import { processorTime } from './installation.js';
import { rawRequest } from './load.js';
import type { Slice } from './paired.js';
import { issueKeys, startApi } from './services.js';
import { quartilesOf } from './statistics.js';

/** Returns the share of requests that are traced: 1 %, or all in a smoke run, which has too few requests to sample. */
const shareOf = ({ sizes }: Bench): number => (sizes.quick ? 1 : 0.01);

/** Starts a collector that accepts spans and discards them. */
const startCollector = async (bench: Bench) => {
  const received = { bytes: 0 };
  const server = createServer((request, response) => {
    request.on('data', (chunk: Buffer) => (received.bytes += chunk.length));
    request.on('end', () => response.end());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  bench.onEnd(async () => {
    server.closeAllConnections();
    server.close();
  });
  return { received, url: `http://127.0.0.1:${(server.address() as { port: number }).port}` };
};

/** Also measures the processor time of a slice, which is more reliable than the throughput on a busy machine. */
const withProcessorTime = (slice: Slice, pid: number) => {
  let requests = 0;
  let processorMs = 0;
  return {
    slice: async (ms: number): Promise<number> => {
      const before = processorTime([pid]);
      const perSecond = await slice(ms);
      processorMs += processorTime([pid]) - before;
      requests += (perSecond * ms) / 1_000;
      return perSecond;
    },
    /** Returns the processor time per request, in µs. */
    microsecondsPerRequest: () => (processorMs * 1_000) / requests,
  };
};

/** Compares the route of G1 with tracing of one request in a hundred with the route without tracing. */
export const tracing: Goal = {
  name: 'G1t',
  run: async (bench) => {
    const { load } = await startServers(bench);
    const share = shareOf(bench);
    const database = await bench.database();
    const collector = await startCollector(bench);
    const withoutTracing = await startApi(bench, database, 'bench/bench-app.js');
    const withTracing = await startApi(bench, database, 'bench/bench-app.js', {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: String(share),
      OTEL_BSP_SCHEDULE_DELAY: bench.sizes.quick ? '10' : '1000',
    });
    const [key] = await issueKeys(database, ['read'], ['org-1']);
    const { watched, note } = watchGenerator(bench, true);
    const measured = [withoutTracing, withTracing].map(({ url, child }) => {
      const slice = watched(load, url, [rawRequest(url, key!, ECHO)], CONNECTIONS);
      return withProcessorTime(slice, child.process.pid!);
    });
    const paired = await measure(bench, 'G1t', { base: measured[0]!.slice, target: measured[1]!.slice });
    const [offUs, onUs] = measured.map(({ microsecondsPerRequest }) => microsecondsPerRequest().toFixed(1));
    const [without, with_] = [
      await residentMegabytes(withoutTracing.child.process.pid!),
      await residentMegabytes(withTracing.child.process.pid!),
    ];
    await withTracing.child.stop();
    if (collector.received.bytes === 0) throw new Error('The collector got no spans');
    const what = `with a trace of ${share * 100} % of the requests`;
    return [
      {
        what: `the route of G1 ${what}`,
        against: 'the route without tracing',
        measured: paired.ratio,
        must: 0.95,
        note: `${note(paired)}; ${onUs} against ${offUs} µs of processor time per request`,
      },
      {
        what: `memory afterwards, ${what}`,
        against: 'the API without tracing',
        measured: quartilesOf([with_ - without]),
        unit: 'MB',
        must: 30,
        more: false,
        note: `${with_.toFixed(0)} against ${without.toFixed(0)} MB`,
      },
    ];
  },
};
