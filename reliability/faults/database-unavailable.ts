import { setTimeout as sleep } from 'node:timers/promises';
import { startProxy } from '../../test/support/tcp-proxy.js';
import type { Outcome, Scenario } from '../scenario.js';
import { percentile } from '../rig/http-request.js';
import { checkAll, checkVerify, waitUntilCounted } from '../rig/check.js';
import type { Keys } from '../rig/keys.js';
import { History, inBatches, Sender, fullLoad } from '../rig/load.js';
import { startService } from '../rig/running-service.js';
import {
  endedProcesses,
  recoveryTimeMs,
  checkOutage,
  startNaiveApi,
  probes,
  type RecoveryScale,
  waitForRecovery,
} from '../rig/outage.js';
import { PostgresServer } from '../rig/postgres-server.js';
import { between, type ProbeResult, Prober } from '../rig/probe.js';
import type { Environment, Process } from '../rig/processes.js';
import type { RunContext } from '../rig/run-context.js';

interface Scale extends RecoveryScale {
  readonly rounds: number;
  /** The minimum duration of an outage in ms. */
  readonly outageMs: number;
  readonly maxResponseMs: number;
  readonly maxLivenessMs: number;
}

/** A database whose outages the scenario controls. */
interface ControlledDatabase {
  readonly env: Environment;
  readonly lose: () => Promise<void>;
  readonly bringBack: () => Promise<void>;
}

/** How long to wait for the first 503 of an outage. */
const REFUSED_WITHIN_MS = 30_000;

const killable = async (context: RunContext): Promise<ControlledDatabase> => {
  const postgres = await PostgresServer.create(context);
  const env = { DATABASE_URL: await postgres.start() };
  return { env, lose: () => postgres.kill(), bringBack: async () => void (await postgres.start()) };
};

const silenceable = async (context: RunContext): Promise<ControlledDatabase> => {
  const database = await context.database({ migrated: false });
  const { proxy, url } = await startProxy(database.url);
  context.onEnd(() => proxy.close());
  return { env: { DATABASE_URL: url }, lose: async () => proxy.freeze(), bringBack: async () => proxy.unfreeze() };
};

interface ProbeTarget {
  readonly url: () => string;
  readonly keys?: Keys | undefined;
  readonly everyMs: number;
  readonly processes: readonly Process[];
}

interface OutageResults {
  readonly findings: string[];
  /** The requests during the outages. */
  readonly duringOutages: readonly ProbeResult[];
  /** The longest recovery in ms. */
  readonly recovery: number;
}

/** Repeats outages of the database until there is a finding. */
const repeatOutages = async (
  context: RunContext,
  { rounds, outageMs, maxResponseMs, maxLivenessMs, maxRecoveryMs, stableMs }: Scale,
  { lose, bringBack }: ControlledDatabase,
  { url, keys, everyMs, processes }: ProbeTarget,
): Promise<OutageResults> => {
  const findings: string[] = [];
  const duringOutages: ProbeResult[] = [];
  let recovery = 0;
  for (let round = 1; round <= rounds && findings.length === 0; round += 1) {
    context.reportProgress(`round ${round} of ${rounds}`);
    const prober = new Prober(probes(url, keys, everyMs));
    await sleep(500);
    const lostAt = Date.now();
    await lose();
    await sleep(outageMs);
    // A busy machine may need longer for the first response.
    const isRefused = (): boolean => prober.results.some(({ at, status }) => at >= lostAt - 50 && status === 503);
    for (const until = Date.now() + REFUSED_WITHIN_MS; !isRefused() && Date.now() < until; await sleep(20))
      if (endedProcesses(processes).length > 0) break;
    await bringBack();
    const backAt = Date.now();
    // A process that has ended never responds again.
    if (endedProcesses(processes).length === 0) await waitForRecovery(prober, backAt, { maxRecoveryMs, stableMs });
    const results = await prober.stop();
    const duringOutage = between(results, lostAt - 50, backAt);
    findings.push(...checkOutage(duringOutage, maxResponseMs, maxLivenessMs), ...endedProcesses(processes));
    if (!duringOutage.some(({ status }) => status === 503)) findings.push('No request got a 503');
    const recoveredAfterMs = recoveryTimeMs(results, backAt);
    if (recoveredAfterMs > maxRecoveryMs)
      findings.push(`A request still failed ${recoveredAfterMs} ms after the database was available again`);
    duringOutages.push(...duringOutage);
    recovery = Math.max(recovery, recoveredAfterMs);
  }
  return { findings, duringOutages, recovery };
};

const runWithoutGuard = async (
  context: RunContext,
  scale: Scale,
  database: ControlledDatabase,
  more: Environment = {},
): Promise<Outcome> => {
  const api = await startNaiveApi(context, { ...database.env, ...more });
  const probes = { url: () => api.url!, everyMs: 40, processes: [api] };
  return {
    workload: '1 round',
    observed: '-',
    findings: (await repeatOutages(context, scale, database, probes)).findings,
  };
};

const slowest = (probed: readonly ProbeResult[]): number => Math.round(Math.max(...probed.map(({ ms }) => ms)));

export const killedPostgres: Scenario<Scale> = {
  name: 'F4',
  what: 'PostgreSQL is killed and restarted under load',
  full: {
    rounds: 10,
    outageMs: 3_000,
    maxResponseMs: 2_000,
    maxLivenessMs: 2_000,
    maxRecoveryMs: 1_000,
    stableMs: Infinity,
  },
  everyChange: {
    rounds: 1,
    outageMs: 800,
    maxResponseMs: Infinity,
    maxLivenessMs: Infinity,
    maxRecoveryMs: 120_000,
    stableMs: 800,
  },
  run: async (context, scale) => {
    const database = await killable(context);
    const opened = await startService(context, database.env);
    const { service, keys } = opened;
    const history = new History(context);
    const sender = new Sender(() => service.url, keys.ingest, history, 2);
    const stop = sender.keepDelivering(inBatches(fullLoad(context.random), 50));
    const probes = { url: () => service.url, keys, everyMs: 40, processes: service.processes };
    const { findings, duringOutages, recovery } = await repeatOutages(context, scale, database, probes);
    await stop();
    if (findings.length === 0)
      findings.push(...history.wrong, ...(await checkAll(context, opened, history.acknowledged)));
    return {
      workload: `${scale.rounds} × killed for ${scale.outageMs / 1000} s, ${history.acknowledged.length} acknowledged`,
      observed: `slowest response ${slowest(duringOutages)} ms, recovered after ${recovery} ms`,
      findings,
    };
  },
  guard: 'a listener for broken connections, and a 503 if one breaks',
  withoutGuard: async (context, scale) => runWithoutGuard(context, scale, await killable(context)),
  controlFinding: / ended with /,
};

export const silentPostgres: Scenario<Scale> = {
  name: 'F5',
  what: 'PostgreSQL stops responding',
  full: {
    rounds: 3,
    outageMs: 30_000,
    maxResponseMs: 5_000,
    maxLivenessMs: 50,
    maxRecoveryMs: 3_000,
    stableMs: Infinity,
  },
  run: async (context, scale) => {
    const database = await silenceable(context);
    const { service, keys, env } = await startService(context, database.env);
    const probes = { url: () => service.url, keys, everyMs: 100, processes: service.processes };
    const { findings, duringOutages, recovery } = await repeatOutages(context, scale, database, probes);
    if (findings.length === 0) {
      await waitUntilCounted(service.url);
      findings.push(...(await checkVerify(context, env)));
    }
    const [livenessChecks, otherRequests] = [true, false].map((isLife) =>
      duringOutages.filter(({ what }) => (what === 'live') === isLife),
    );
    const p99 = percentile(
      livenessChecks!.map(({ ms }) => ms),
      0.99,
    ).toFixed(1);
    return {
      workload: `${scale.rounds} × ${scale.outageMs / 1000} s of silence, 20 requests a second`,
      observed:
        `slowest response ${slowest(otherRequests!)} ms, liveness at most ${slowest(livenessChecks!)} ms (p99 ${p99} ms), ` +
        `recovered after ${recovery} ms`,
      findings,
    };
  },
  guard: 'timeouts of the service for database calls',
  controlScale: { rounds: 1 },
  withoutGuard: async (context, scale) =>
    runWithoutGuard(context, scale, await silenceable(context), { LISTENS: 'yes' }),
};
