import { setTimeout as sleep } from 'node:timers/promises';
import type { EventLog } from '../../src/event-log/event-log.js';
import type { Random } from '../../test/support/random.js';
import { type Sent, sentReport, sentThreat, stored } from '../../test/support/upstream.js';
import type { Outcome, Scenario } from '../scenario.js';
import { ask, percentile } from '../rig/ask.js';
import { checkStored, checkVerify, counted } from '../rig/check.js';
import { History, inBatches, Sender } from '../rig/load.js';
import type { Scene } from '../rig/scene.js';
import { slowDown, watch } from '../rig/watched.js';

export interface Dose {
  /** How many the loud one sends. */
  readonly events: number;
  /** And at least for so long. */
  readonly seconds?: number;
  /** Milliseconds from the endpoint's answer until it is counted, in 99 of 100. */
  readonly latencyMs: number;
}

const CONNECTIONS = 4;
const BATCH = 1_000;

/** A backfill of one organization: new records and changes of them. */
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

interface Loudness {
  readonly events?: (random: Random) => Iterable<Sent>;
  readonly isProjectorSlow?: boolean;
  /** How many the loud one appends directly to the log, bypassing the endpoint and its backpressure. */
  readonly pastEndpoint?: number;
}

/** How long an event of a quiet organization takes from the endpoint's answer to its metrics, while another one is loud. */
export const neighbour = async (
  scene: Scene,
  { events, seconds = 0, latencyMs }: Dose,
  { events: flood = backfill, isProjectorSlow = false, pastEndpoint }: Loudness = {},
): Promise<Outcome> => {
  const { service, log, keys, env } = await watch(scene, { organizations: NEIGHBOURS });
  const history = new History(scene);
  const loud = new Sender(() => service.url, keys.ingest, history, CONNECTIONS);
  const stop = new AbortController();
  const batches = inBatches(flood(scene.random), BATCH);
  const loudly =
    pastEndpoint === undefined
      ? loud.deliver(batches, stop.signal)
      : append(log, batches, history, stop.signal, pastEndpoint);
  const speedUp = isProjectorSlow ? slowDown(service.projectors[0]!) : undefined;
  const latencies: number[] = [];
  const others = new History(scene);
  const quiet = NEIGHBOURS.map(async (organization) => {
    const sender = new Sender(() => service.url, keys.ingest, others, 1);
    const key = keys.read[organization]!;
    for (let n = 1; !stop.signal.aborted; n += 1) {
      await sender.deliver([[sentReport(`n-${n}`, { organization }, `${organization}-n-${n}`)]].values());
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
  });
  const begin = performance.now();
  const before = await log.head();
  let slowed = 0;
  const look = (): void => {
    slowed += history.attempts.filter(({ status }) => status === 429).length;
    history.forget();
    others.forget();
  };
  while (history.accepted + history.duplicates < events || performance.now() - begin < seconds * 1_000) {
    await sleep(100);
    look();
    scene.tell(
      `${history.accepted} of ${events} events, p99 ${Math.round(percentile(latencies, 0.99))} ms, slowed ${slowed} times`,
    );
  }
  // Of a request that was refused in the end some events may be stored: the log has them all.
  const perSecond = (Number((await log.head()) - before) * 1_000) / (performance.now() - begin);
  stop.abort();
  await loudly;
  await Promise.all([...quiet, speedUp?.()]);
  look();
  const p99 = percentile(latencies, 0.99);
  const findings = [...history.wrong, ...others.wrong];
  if (perSecond < 1) findings.push('nothing of the loud one was stored');
  if (p99 > latencyMs) findings.push(`p99 of the others is ${Math.round(p99)} ms`);
  if (findings.length === 0) {
    await counted(service.url, 600_000);
    findings.push(
      ...(await checkStored(log, history.accepted + history.duplicates + others.accepted, keys, CONNECTIONS * BATCH)),
      ...(await checkVerify(scene, env)),
    );
  }
  return {
    dose: `${history.accepted} events of the loud one (${Math.round(perSecond)} stored a second)`,
    seen: `${latencies.length} events of ${NEIGHBOURS.length} others counted after p50 ${Math.round(percentile(latencies, 0.5))}, p99 ${Math.round(p99)}, at most ${Math.round(Math.max(...latencies))} ms; the loud one slowed ${slowed} times`,
    findings,
  };
};

const append = async (
  log: EventLog,
  batches: Iterable<readonly Sent[]>,
  history: History,
  signal: AbortSignal,
  most: number,
): Promise<void> => {
  for (const batch of batches) {
    if (signal.aborted || history.accepted >= most) return;
    await log.appendAll(batch.map(stored));
    history.accepted += batch.length;
  }
};

export const loudNeighbour: Scenario<Dose> = {
  name: 'F21',
  what: 'one organization sends at full rate',
  full: { events: 10_000_000, latencyMs: 500 },
  run: (scene, dose) => neighbour(scene, dose),
  guard: 'an endpoint that admits no more than is counted in a moment',
  counterTest: { events: 0, seconds: 3 },
  without: (scene, dose) =>
    neighbour(
      scene,
      dose,
      // Slowed, so that a few thousand are enough.
      { pastEndpoint: 5_000, isProjectorSlow: true },
    ),
};
