import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../test/support/random.js';
import { type Sent, sentReport, sentThreat } from '../../test/support/upstream.js';
import type { Outcome, Scenario } from '../scenario.js';
import { sendRequest, percentile } from '../rig/http-request.js';
import { checkStored, checkVerify, waitUntilCounted } from '../rig/check.js';
import { appendDirectly, History, inBatches, Sender } from '../rig/load.js';
import type { RunContext } from '../rig/run-context.js';
import { slowDown, startWithMemoryReports } from '../rig/memory-reports.js';

export interface Scale {
  /** How many events the noisy organization sends. */
  readonly events: number;
  /** The minimum duration in seconds. */
  readonly seconds?: number;
  /** The maximum p99 from acknowledgement to counted, in ms. */
  readonly latencyMs: number;
  /** The connections of the noisy organization. */
  readonly connections: number;
}

const BATCH = 1_000;

/** Generates a backfill of one organization: new records and changes. */
function* backfill(random: Random): Generator<Sent> {
  for (let n = 0; ; n += 1) {
    const at = new Date(Date.UTC(2025, 0, 1) + random.int(365 * 86_400_000)).toISOString();
    const asset = { type: random.pick(['URL', 'TWITTER', 'ADDRESS']), content: `site-${n % 1_000}.example` };
    const status = random.pick(['APPROVED', 'BLOCKED', 'REJECTED', 'WATCHLISTED']);
    const threatId = `t-${random.chance(0.3) ? random.int(n + 1) : n}`;
    yield sentThreat(threatId, { organization: 'loud', asset, status, createdAt: at, updatedAt: at }, `l-${n}`);
  }
}

const NEIGHBOURS = ['quiet-1', 'quiet-2', 'quiet-3'];

interface NeighbourOptions {
  readonly events?: (random: Random) => Iterable<Sent>;
  readonly isProjectorSlow?: boolean;
  /** If set, this many events are appended to the log directly, which bypasses the endpoint and its backpressure. */
  readonly pastEndpoint?: number;
}

/**
 * Measures the time from acknowledgement to counted for other organizations while one organization sends at full rate.
 */
export const runNoisyNeighbour = async (
  context: RunContext,
  { events, seconds = 0, latencyMs, connections }: Scale,
  { events: flood = backfill, isProjectorSlow = false, pastEndpoint }: NeighbourOptions = {},
): Promise<Outcome> => {
  const { service, log, keys, env } = await startWithMemoryReports(context, { organizations: NEIGHBOURS });
  const history = new History(context);
  const noisySender = new Sender(() => service.url, keys.ingest, history, connections);
  const stop = new AbortController();
  const batches = inBatches(flood(context.random), BATCH);
  const loudly =
    pastEndpoint === undefined
      ? noisySender.deliver(batches, stop.signal)
      : appendDirectly(log, batches, history, stop.signal, pastEndpoint);
  const speedUp = isProjectorSlow ? slowDown(service.projectors[0]!) : undefined;
  const latencies: number[] = [];
  const othersHistory = new History(context);
  const quiet = NEIGHBOURS.map(async (organization) => {
    const sender = new Sender(() => service.url, keys.ingest, othersHistory, 1);
    const key = keys.read[organization]!;
    for (let n = 1; !stop.signal.aborted; n += 1) {
      await sender.deliver([[sentReport(`n-${n}`, { organization }, `${organization}-n-${n}`)]].values());
      const begin = performance.now();
      for (;;) {
        const { body } = await sendRequest(`${service.url}/v2/organization/metrics`, { key });
        if (body.metrics?.reports >= n) break;
        if (performance.now() - begin > 60_000) break;
        await sleep(5);
      }
      latencies.push(performance.now() - begin);
      await sleep(100);
    }
  });
  const begin = performance.now();
  const before = await log.head();
  let slowed = 0;
  const recordAttempts = (): void => {
    slowed += history.attempts.filter(({ status }) => status === 429).length;
    history.discardOld();
    othersHistory.discardOld();
  };
  while (history.accepted + history.duplicates < events || performance.now() - begin < seconds * 1_000) {
    await sleep(100);
    recordAttempts();
    context.reportProgress(
      `${history.accepted} of ${events} events, p99 ${Math.round(percentile(latencies, 0.99))} ms, slowed ${slowed} × 429`,
    );
  }
  // Counted from the log, because events of a request that was rejected may be stored.
  const perSecond = (Number((await log.head()) - before) * 1_000) / (performance.now() - begin);
  stop.abort();
  await loudly;
  await Promise.all([...quiet, speedUp?.()]);
  recordAttempts();
  const p99 = percentile(latencies, 0.99);
  const findings = [...history.wrong, ...othersHistory.wrong];
  if (perSecond < 1) findings.push('no event of the noisy organization was stored');
  if (p99 > latencyMs) findings.push(`the p99 of the other organizations is ${Math.round(p99)} ms`);
  if (findings.length === 0) {
    await waitUntilCounted(service.url, 600_000);
    findings.push(
      ...(await checkStored(
        log,
        history.accepted + history.duplicates + othersHistory.accepted,
        keys,
        connections * BATCH,
      )),
      ...(await checkVerify(context, env)),
    );
  }
  return {
    workload: `${history.accepted} events of one organization on ${connections} connections (${Math.round(perSecond)} stored a second)`,
    observed: `${latencies.length} events of ${NEIGHBOURS.length} others counted after p50 ${Math.round(percentile(latencies, 0.5))}, p99 ${Math.round(p99)}, at most ${Math.round(Math.max(...latencies))} ms; the noisy organization got ${slowed} × 429`,
    findings,
  };
};

const noisyNeighbour = (name: string, connections: number): Scenario<Scale> => ({
  name,
  what: `one organization sends at full rate on ${connections} connections`,
  full: { events: 1_000_000, seconds: 0, latencyMs: 500, connections },
  run: (context, scale) => runNoisyNeighbour(context, scale),
  guard: 'backpressure of the endpoint by the backlog of the projector',
  controlScale: { events: 0, seconds: 3 },
  withoutGuard: (context, scale) =>
    runNoisyNeighbour(
      context,
      scale,
      // The projector is slowed down, so that a few thousand events suffice.
      { pastEndpoint: 5_000, isProjectorSlow: true },
    ),
});

export const noisyNeighbours = [
  noisyNeighbour('F21', 4),
  noisyNeighbour('F21a', 16),
  noisyNeighbour('F21b', 64),
] as const;
