import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Outcome, Scenario } from '../scenario.js';
import { sendRequest, percentile } from '../rig/http-request.js';
import { checkStored, checkVerify, waitUntilCounted } from '../rig/check.js';
import { History, inBatches, Sender, upstream } from '../rig/load.js';
import type { Process } from '../rig/processes.js';
import type { RunContext } from '../rig/run-context.js';
import { MB, startWithMemoryReports } from '../rig/memory-reports.js';

const WINDOWS = 12;

interface Scale {
  readonly seconds: number;
  readonly mbPerMinute: number;
  readonly delayMs: number;
}

/** Returns the growth per minute by least squares. */
const slopePerMinute = (points: readonly { readonly at: number; readonly value: number }[]): number => {
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [x, y] = [mean(points.map(({ at }) => at)), mean(points.map(({ value }) => value))];
  const above = points.reduce((sum, { at, value }) => sum + (at - x) * (value - y), 0);
  const below = points.reduce((sum, { at }) => sum + (at - x) ** 2, 0);
  return below === 0 ? 0 : (above / below) * 60_000;
};

const handlesOf = ({ pid }: Process): number => {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return 0;
  }
};

const soak = async (
  context: RunContext,
  { seconds, mbPerMinute, delayMs }: Scale,
  preload?: string,
): Promise<Outcome> => {
  const { service, keys, log, env, memoryOf } = await startWithMemoryReports(context, { preload });
  const history = new History(context);
  const sender = new Sender(() => service.url, keys.ingest, history, 2);
  const events = inBatches(upstream(context.random), 200);
  // A short trial at full rate, to determine half of it.
  const stopTrial = sender.keepDelivering(events);
  const trialMs = Math.min(10_000, seconds * 100);
  await sleep(trialMs);
  await stopTrial();
  const perSecond = history.acknowledged.length / (trialMs / 1_000) / 2;
  await waitUntilCounted(service.url, 600_000);
  const heapOf = (process: 'api' | 'projector'): number => memoryOf(process === 'api' ? 'src' : 'projections').heapUsed;
  const samples: { at: number; api: number; projector: number; handles: number; delay: number }[] = [];
  const begin = Date.now();
  let sentSince = 0;
  const stop = new AbortController();
  const reading = (async () => {
    while (!stop.signal.aborted) {
      for (const key of Object.values(keys.read)) await sendRequest(`${service.url}/v2/organization/metrics`, { key });
      await sleep(20);
    }
  })();
  const loading = (async () => {
    while (!stop.signal.aborted) {
      if (sentSince < ((Date.now() - begin) / 1_000) * perSecond) {
        const next = events.next();
        if (next.done) return;
        await sender.deliver([next.value].values());
        history.discardOld();
        sentSince += 200;
      } else await sleep(10);
    }
  })();
  while (Date.now() - begin < seconds * 1_000) {
    await sleep(Math.min(1_000, seconds * 20));
    const text = String((await sendRequest(`${service.url}/metrics`)).body);
    const delay = Number(/^nodejs_eventloop_lag_p99_seconds (\S+)/m.exec(text)?.[1] ?? NaN) * 1_000;
    const handles = service.processes.reduce((sum, process) => sum + handlesOf(process), 0);
    samples.push({ at: Date.now(), api: heapOf('api'), projector: heapOf('projector'), handles, delay });
    context.reportProgress(
      `${Math.round((Date.now() - begin) / 1_000)} of ${seconds} s, ${sentSince} events, ` +
        `heaps ${(heapOf('api') / MB).toFixed(0)} and ${(heapOf('projector') / MB).toFixed(0)} MB, ${handles} handles, delay ${delay.toFixed(0)} ms`,
    );
  }
  stop.abort();
  await Promise.all([reading, loading]);
  const warm = samples.filter(({ at }) => at - begin > seconds * 200);
  // The heap grows between two garbage collections, so only the minimum of each window counts.
  const windows = Array.from({ length: WINDOWS }, (_, n) =>
    warm.slice(Math.floor((n * warm.length) / WINDOWS), Math.floor(((n + 1) * warm.length) / WINDOWS)),
  ).filter(({ length }) => length > 0);
  const slopes = (['api', 'projector'] as const).map((process) => ({
    process,
    slope:
      slopePerMinute(
        windows.map((window) => ({ at: window[0]!.at, value: Math.min(...window.map((sample) => sample[process])) })),
      ) / MB,
  }));
  const half = warm.slice(Math.floor(warm.length / 2));
  const handles = [
    Math.max(...warm.map((sample) => sample.handles)),
    Math.max(...half.map((sample) => sample.handles)),
  ];
  const delays = warm.map(({ delay }) => delay).filter(Number.isFinite);
  const findings = [...history.wrong];
  for (const { process, slope } of slopes)
    if (slope > mbPerMinute) findings.push(`The memory of the ${process} grows by ${slope.toFixed(2)} MB a minute`);
  if (half.at(-1)!.handles > warm[0]!.handles + 20)
    findings.push(`Handles grew from ${warm[0]!.handles} to ${half.at(-1)!.handles}`);
  const delay = percentile(delays, 0.5);
  if (delay > delayMs) findings.push(`The event loop's delay is ${delay.toFixed(0)} ms at p99`);
  if (preload === undefined) {
    await waitUntilCounted(service.url, 600_000);
    findings.push(...(await checkStored(log, history.accepted, keys)));
    findings.push(...(await checkVerify(context, env)));
  }
  return {
    workload: `${(seconds / 60).toFixed(1)} min at ${Math.round(perSecond)} events a second, half of the full rate`,
    observed:
      `${sentSince} events; heap ${slopes.map(({ process, slope }) => `of the ${process} ${slope >= 0 ? '+' : ''}${slope.toFixed(2)} MB a minute`).join(', ')}; ` +
      `at most ${handles[0]} handles, ${handles[1]} in the second half; event-loop delay p99 ${delay.toFixed(0)} ms (median of the samples), ${Math.max(...delays).toFixed(0)} ms at worst`,
    findings,
  };
};

export const longRun: Scenario<Scale> = {
  name: 'F17',
  what: 'half the full rate for half an hour',
  full: { seconds: 1_800, mbPerMinute: 1, delayMs: 50 },
  run: (context, scale) => soak(context, scale),
  guard: 'the service has no memory leak',
  // The leak is 150 MB a minute. Within 15 s a heap may grow by several MB a minute without a leak.
  controlScale: { seconds: 15, mbPerMinute: 100, delayMs: 1_000 },
  withoutGuard: (context, scale) => soak(context, scale, 'leak'),
};
