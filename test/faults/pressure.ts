import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BEGINNING, type EventLog } from '../../src/event-log/event-log.js';
import { createDatabase } from '../support/postgres.js';
import type { Random } from '../support/random.js';
import { sent, type Sent } from '../support/upstream.js';
import type { Fault, Outcome } from './fault.js';
import { ask, percentile } from './rig/ask.js';
import { checkLog, checkVerify, counted, type Keys, wholeLog } from './rig/check.js';
import { issueKeys, keysKnown, openLog } from './rig/keys.js';
import { brandsAndFlags, History, inBatches, Sender, upstream } from './rig/load.js';
import { preloadOf, type Process } from './rig/processes.js';
import type { Scene } from './rig/scene.js';
import { Service } from './rig/service.js';

const MB = 1024 * 1024;

interface Ground {
  readonly service: Service;
  readonly log: EventLog;
  readonly keys: Keys;
  readonly env: Readonly<Record<string, string>>;
  /** What a program's process last said of its memory. */
  readonly memoryOf: (program: 'src' | 'projections') => NodeJS.MemoryUsage;
}

const open = async (
  scene: Scene,
  {
    organizations,
    preload = 'report-memory',
    live = '',
  }: { organizations?: readonly string[]; preload?: string; live?: string } = {},
): Promise<Ground> => {
  const database = await createDatabase();
  scene.later(() => database.drop());
  const reports = await scene.folder();
  const env = { DATABASE_URL: database.url, MEMORY_REPORTS: reports, MEMORY_LIVE: live };
  const log = await openLog(scene, database.url);
  const keys = await issueKeys(log, organizations);
  const { service } = await Service.start(scene, { env, preload: preloadOf(preload) });
  await keysKnown(service.url, keys);
  let last: Partial<Record<string, NodeJS.MemoryUsage>> = {};
  const memoryOf = (program: string): NodeJS.MemoryUsage => {
    try {
      last = { ...last, [program]: JSON.parse(readFileSync(join(reports, `${program}.json`), 'utf8')) };
    } catch {
      // It is being written.
    }
    return last[program] ?? { rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 };
  };
  return { service, log, keys, env, memoryOf };
};

/** The most that something was while something else went on. */
const peakDuring = async (read: () => number, work: Promise<unknown>): Promise<number> => {
  let peak = 0;
  let isOver = false;
  void work.finally(() => (isOver = true));
  while (!isOver) {
    peak = Math.max(peak, read());
    await sleep(50);
  }
  return peak;
};

interface FasterDose {
  readonly seconds: number;
  /** The heap may be this many times its peak while idle. */
  readonly heap: number;
}

/** The projector is stopped nine tenths of the time. */
const slowDown = async (projector: Process, signal: AbortSignal): Promise<void> => {
  while (!signal.aborted) {
    projector.signal('SIGSTOP');
    await sleep(90);
    projector.signal('SIGCONT');
    await sleep(10);
  }
};

const outrun = async (scene: Scene, { seconds, heap }: FasterDose): Promise<Outcome> => {
  // Collected before each look, for garbage says nothing of what is kept.
  const { service, log, keys, env, memoryOf } = await open(scene, { live: 'yes' });
  const heapOf = (): number => memoryOf('projections').heapUsed;
  const history = new History(scene);
  const sender = new Sender(() => service.url, keys.ingest, history, 4);
  // Idle is a projector that has worked before: its code is compiled and its caches are filled.
  await sender.deliver(inBatches([...brandsAndFlags(), ...upstream(scene.random, 5_000)], 1_000));
  await counted(service.url);
  const idle = await peakDuring(heapOf, sleep(Math.min(seconds * 500, 10_000)));
  const stop = new AbortController();
  const slowing = slowDown(service.projectors[0]!, stop.signal);
  const lag = async (): Promise<number> => {
    const { body } = await ask(`${service.url}/health/ready`);
    return Math.max(...body.parts.readModels.detail.projections.map((one: { lag: number }) => one.lag));
  };
  const end = new AbortController();
  const delivering = sender.deliver(inBatches(numbered(upstream(scene.random), 'more'), 1_000), end.signal);
  const peaking = peakDuring(heapOf, delivering);
  for (let second = 1; second <= seconds; second += 1) {
    await sleep(1_000);
    scene.tell(`${second} of ${seconds} s, ${history.acknowledged.length} acknowledged, ${await lag()} behind`);
  }
  end.abort();
  await delivering;
  const behind = await lag();
  stop.abort();
  await slowing;
  const draining = counted(service.url, 600_000);
  const peak = Math.max(await peaking, await peakDuring(heapOf, draining));
  sender.close();
  const findings: string[] = [...history.wrong];
  if (behind === 0) findings.push('The projector was never behind: the dose was none');
  if (peak > heap * idle)
    findings.push(`The heap was ${(peak / MB).toFixed(1)} MB at its peak, ${(idle / MB).toFixed(1)} MB idle`);
  findings.push(...checkLog(await wholeLog(log), history.acknowledged), ...(await checkVerify(scene, env)));
  await service.stop();
  return {
    dose: `${seconds} s, ${history.acknowledged.length} events, a projector stopped nine tenths of the time`,
    seen: `${behind} events behind at the end, drained in ${await draining} ms; heap ${(peak / MB).toFixed(1)} MB at its peak, ${(idle / MB).toFixed(1)} MB idle (${(peak / idle).toFixed(2)} ×)`,
    findings,
  };
};

function* numbered(events: Iterable<Sent>, prefix: string): Generator<Sent> {
  for (const event of events) yield { ...event, id: `${prefix}-${event.id}` };
}

/** A follower that takes what comes and works on it later, in this process. */
const hoard = async (scene: Scene, { heap }: FasterDose): Promise<Outcome> => {
  const { service, log, keys } = await open(scene);
  const history = new History(scene);
  const sender = new Sender(() => service.url, keys.ingest, history, 4);
  await sender.deliver(inBatches(upstream(scene.random, 20_000), 1_000));
  sender.close();
  const acknowledged = history.acknowledged.length;
  globalThis.gc?.();
  const idle = process.memoryUsage().heapUsed;
  const waiting: unknown[] = [];
  // Ten times, so that it is not this process's other work that is measured.
  for (let n = 0; n < 10; n += 1)
    for (let after = BEGINNING; ;) {
      const page = await log.readAll(after, 1_000);
      waiting.push(...page);
      if (page.length < 1_000) break;
      after = page.at(-1)!.position;
    }
  const peak = process.memoryUsage().heapUsed;
  await service.stop();
  return {
    dose: `${acknowledged} events`,
    seen: `${waiting.length} waiting`,
    findings:
      peak > heap * idle ? [`The heap was ${(peak / MB).toFixed(1)} MB, ${(idle / MB).toFixed(1)} MB idle`] : [],
  };
};

export const fasterProducer: Fault<FasterDose> = {
  name: 'F18',
  what: 'a producer ten times faster than the projector',
  // Over a few seconds a heap's peak is as much chance as use.
  doses: { short: { seconds: 2, heap: 3 }, full: { seconds: 60, heap: 1.5 } },
  run: outrun,
  guard: 'one page is worked on while one travels, and no more are taken',
  without: (scene) => hoard(scene, { seconds: 1, heap: 1.5 }),
};

interface NeighbourDose {
  readonly seconds: number;
  /** Milliseconds from the answer at the door until it is counted, in 99 of 100. */
  readonly latencyMs: number;
}

const report = (organization: string, n: number): Sent =>
  sent(
    'ReportFiled',
    { organization, reportId: `n-${n}`, createdAt: '2026-02-01T00:00:00Z', updatedAt: '2026-02-01T00:00:00Z' },
    `${organization}-n-${n}`,
  );

/** A backfill of one organization: new records and changes of them. */
function* backfill(random: Random): Generator<Sent> {
  for (let n = 0; ; n += 1) {
    const at = new Date(Date.UTC(2025, 0, 1) + random.int(365 * 86_400_000)).toISOString();
    const asset = { type: random.pick(['URL', 'TWITTER', 'ADDRESS']), content: `site-${n % 1_000}.example` };
    const status = random.pick(['APPROVED', 'BLOCKED', 'REJECTED', 'WATCHLISTED']);
    const threatId = `t-${random.chance(0.3) ? random.int(n + 1) : n}`;
    yield sent(
      'ThreatStatusChanged',
      { organization: 'loud', threatId, asset, status, createdAt: at, updatedAt: at },
      `l-${n}`,
    );
  }
}

const NEIGHBOURS = ['quiet-1', 'quiet-2', 'quiet-3'];

/** How long an event of a quiet organization takes from the door's answer to its metrics, while another one is loud. */
const neighbour = async (
  scene: Scene,
  { seconds, latencyMs }: NeighbourDose,
  isProjectorSlow = false,
): Promise<Outcome> => {
  const { service, log, keys, env } = await open(scene, { organizations: NEIGHBOURS });
  const history = new History(scene);
  const loud = new Sender(() => service.url, keys.ingest, history, 4);
  const stop = new AbortController();
  const loudly = loud.deliver(inBatches(backfill(scene.random), 1_000), stop.signal);
  const slowing = isProjectorSlow ? slowDown(service.projectors[0]!, stop.signal) : undefined;
  const latencies: number[] = [];
  const quiet = NEIGHBOURS.map(async (organization) => {
    const sender = new Sender(() => service.url, keys.ingest, new History(scene), 1);
    const key = keys.read[organization]!;
    for (let n = 1; !stop.signal.aborted; n += 1) {
      await sender.deliver([[report(organization, n)]].values());
      const begin = performance.now();
      for (;;) {
        const { body } = await ask(`${service.url}/v2/organization/metrics`, { key });
        if (body.metrics?.reports >= n) break;
        if (performance.now() - begin > 60_000) break;
        await sleep(5);
      }
      latencies.push(performance.now() - begin);
      await sleep(100);
    }
    sender.close();
  });
  for (let second = 1; second <= seconds; second += 1) {
    await sleep(1_000);
    scene.tell(
      `${second} of ${seconds} s, ${history.acknowledged.length} acknowledged, p99 ${Math.round(percentile(latencies, 0.99))} ms`,
    );
  }
  stop.abort();
  await loudly;
  await Promise.all([...quiet, slowing]);
  loud.close();
  const slowed = history.attempts.filter(({ status }) => status === 429).length;
  const p99 = percentile(latencies, 0.99);
  const findings = [...history.wrong];
  if (p99 > latencyMs) findings.push(`p99 of the others is ${Math.round(p99)} ms`);
  if (findings.length === 0) {
    await counted(service.url, 600_000);
    findings.push(...checkLog(await wholeLog(log), history.acknowledged), ...(await checkVerify(scene, env)));
  }
  await service.stop();
  return {
    dose: `${history.acknowledged.length} events of the loud one in ${seconds} s (${Math.round(history.acknowledged.length / seconds)} a second)`,
    seen: `${latencies.length} events of ${NEIGHBOURS.length} others counted after p50 ${Math.round(percentile(latencies, 0.5))}, p99 ${Math.round(p99)}, at most ${Math.round(Math.max(...latencies))} ms; the loud one slowed ${slowed} times`,
    findings,
  };
};

export const loudNeighbour: Fault<NeighbourDose> = {
  name: 'F21',
  what: 'one organization sends at full rate',
  doses: { short: { seconds: 3, latencyMs: 5_000 }, full: { seconds: 120, latencyMs: 500 } },
  run: (scene, dose) => neighbour(scene, dose),
  guard: 'a projector as fast as the door',
  without: (scene) => neighbour(scene, { seconds: 4, latencyMs: 500 }, true),
};

const WINDOWS = 12;

interface SoakDose {
  readonly seconds: number;
  readonly mbPerMinute: number;
  readonly delayMs: number;
}

/** How much a value grows in a minute, by least squares. */
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

const soak = async (scene: Scene, { seconds, mbPerMinute, delayMs }: SoakDose, preload?: string): Promise<Outcome> => {
  const { service, keys, log, env, memoryOf } = await open(scene, { preload });
  const history = new History(scene);
  const sender = new Sender(() => service.url, keys.ingest, history, 2);
  const events = inBatches(upstream(scene.random), 200);
  // What it does in a few seconds at full rate, so that half of it is known.
  const trial = new AbortController();
  const delivering = sender.deliver(events, trial.signal);
  const trialMs = Math.min(10_000, seconds * 100);
  await sleep(trialMs);
  trial.abort();
  await delivering;
  const perSecond = history.acknowledged.length / (trialMs / 1_000) / 2;
  await counted(service.url, 600_000);
  const heapOf = (process: 'api' | 'projector'): number => memoryOf(process === 'api' ? 'src' : 'projections').heapUsed;
  const samples: { at: number; api: number; projector: number; handles: number; delay: number }[] = [];
  const begin = Date.now();
  let sentSince = 0;
  const stop = new AbortController();
  const reading = (async () => {
    while (!stop.signal.aborted) {
      for (const [, key] of Object.entries(keys.read)) await ask(`${service.url}/v2/organization/metrics`, { key });
      await sleep(20);
    }
  })();
  const loading = (async () => {
    while (!stop.signal.aborted) {
      if (sentSince < ((Date.now() - begin) / 1_000) * perSecond) {
        const next = events.next();
        if (next.done) return;
        await sender.deliver([next.value].values());
        // A run is as long as it is; its history need not be.
        history.acknowledged.splice(0, Math.max(0, history.acknowledged.length - 200_000));
        history.attempts.length = 0;
        sentSince += 200;
      } else await sleep(10);
    }
  })();
  while (Date.now() - begin < seconds * 1_000) {
    await sleep(Math.min(1_000, seconds * 20));
    const text = String((await ask(`${service.url}/metrics`)).body);
    const delay = Number(/^nodejs_eventloop_lag_p99_seconds (\S+)/m.exec(text)?.[1] ?? NaN) * 1_000;
    const handles = service.processes.reduce((sum, process) => sum + handlesOf(process), 0);
    samples.push({ at: Date.now(), api: heapOf('api'), projector: heapOf('projector'), handles, delay });
    scene.tell(
      `${Math.round((Date.now() - begin) / 1_000)} of ${seconds} s, ${sentSince} events, ` +
        `heaps ${(heapOf('api') / MB).toFixed(0)} and ${(heapOf('projector') / MB).toFixed(0)} MB, ${handles} handles, delay ${delay.toFixed(0)} ms`,
    );
  }
  stop.abort();
  await Promise.all([reading, loading]);
  sender.close();
  const warm = samples.filter(({ at }) => at - begin > seconds * 200);
  // Between two collections the heap grows as it may; what counts is what is left after them.
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
    await counted(service.url, 600_000);
    // Some millions: too many to be held here one by one.
    const own = Object.keys(keys.read).length + 2;
    const stored = Number(await log.head()) + 1 - own;
    if (stored !== history.accepted)
      findings.push(`${history.accepted} events were accepted, ${stored} are in the log`);
    findings.push(...(await checkVerify(scene, env)));
  }
  await service.stop();
  return {
    dose: `${(seconds / 60).toFixed(1)} min at ${Math.round(perSecond)} events a second, half of what it took at full rate`,
    seen:
      `${sentSince} events; heap ${slopes.map(({ process, slope }) => `of the ${process} ${slope >= 0 ? '+' : ''}${slope.toFixed(2)} MB a minute`).join(', ')}; ` +
      `at most ${handles[0]} handles, ${handles[1]} in the second half; event-loop delay p99 ${delay.toFixed(0)} ms (median of the looks), ${Math.max(...delays).toFixed(0)} ms at worst`,
    findings,
  };
};

export const longRun: Fault<SoakDose> = {
  name: 'F17',
  what: 'half load for half an hour',
  doses: {
    short: { seconds: 30, mbPerMinute: 100, delayMs: 1_000 },
    full: { seconds: 1_800, mbPerMinute: 1, delayMs: 50 },
  },
  run: (scene, dose) => soak(scene, dose),
  guard: 'nothing is kept for ever',
  without: (scene) => soak(scene, { seconds: 15, mbPerMinute: 100, delayMs: 1_000 }, 'leak'),
};
