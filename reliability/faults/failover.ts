import { setTimeout as sleep } from 'node:timers/promises';
import { findPrograms, POSTGRES_PROGRAMS } from '../../test/support/postgres-programs.js';
import { eventId, type Sent } from '../../test/support/upstream.js';
import type { Outcome, Scenario } from '../scenario.js';
import { checkAll, wholeLog } from '../rig/check.js';
import { brandsAndFlags, History, inBatches, Sender, upstream } from '../rig/load.js';
import { requireProgram } from '../rig/require-program.js';
import { startService } from '../rig/running-service.js';
import { endedProcesses, recoveryTimeMs, probes, describeResult } from '../rig/outage.js';
import { Prober } from '../rig/probe.js';
import type { RunContext } from '../rig/run-context.js';
import { Standbys } from '../rig/standbys.js';

const WAYS = ['killed', 'frozen', 'switched'] as const;
/** `behind`: killed while its standbys lag. */
type Way = (typeof WAYS)[number] | 'behind';

interface FailoverScale {
  /** Rounds per way. */
  readonly rounds: number;
  readonly ways: readonly Way[];
  /** How long a frozen primary does not respond, in ms. */
  readonly frozenMs: number;
  /** How soon after a promotion all requests must succeed, in ms. */
  readonly maxRecoveryMs: number;
}

/** How long after the failure a standby is promoted. */
const PROMOTE_AFTER_MS = 2_000;
/** How long the run watches for further failures after a recovery, and after a frozen primary has been resumed. */
const CALM_MS = 3_000;
/** How long the standbys are cut off before the primary is killed. */
const BEHIND_MS = 1_500;

/** Makes the primary fail. @returns a function that makes it a standby once another server is the primary */
const failPrimary = async (standbys: Standbys, way: Way, frozenMs: number): Promise<() => Promise<void>> => {
  const { primary } = standbys;
  if (way === 'behind') {
    await standbys.stopReplication();
    await sleep(BEHIND_MS);
    await standbys.kill(primary);
  } else if (way === 'killed') await standbys.kill(primary);
  else if (way === 'switched') await standbys.stop(primary);
  else standbys.signal(primary, 'SIGSTOP');
  const failedAt = Date.now();
  return async () => {
    if (way === 'frozen') {
      await sleep(Math.max(0, failedAt + frozenMs - Date.now()));
      // The old primary still believes that it is the primary, but must get no writes.
      standbys.signal(primary, 'SIGCONT');
      await sleep(CALM_MS);
      await standbys.kill(primary);
    }
    await standbys.copy(primary);
    await standbys.requireSynchronousCommits();
  };
};

const failOver = async (
  context: RunContext,
  { rounds, ways, frozenMs, maxRecoveryMs }: FailoverScale,
  followsPrimary = true,
): Promise<Outcome> => {
  const isSynchronous = !ways.includes('behind');
  const standbys = await Standbys.start(context, findPrograms()!, { isSynchronous });
  const env = { DATABASE_URL: followsPrimary ? standbys.url : standbys.urlOf(standbys.primary) };
  const opened = await startService(context, env, { logEnv: { DATABASE_URL: standbys.url } });
  const { service, log, keys } = opened;
  const history = new History(context);
  const sender = new Sender(() => service.url, keys.ingest, history, 2);
  // Sent before the failures, so that brands cannot be lost: the metrics checks need them.
  await sender.deliver(inBatches(brandsAndFlags(), 50));
  const stop = sender.keepDelivering(inBatches(upstream(context.random), 50));
  const prober = new Prober(probes(() => service.url, keys, 100));
  const findings: string[] = [];
  const recoveryTimesMs: Record<Way, number[]> = { killed: [], frozen: [], switched: [], behind: [] };
  /** How many events had been acknowledged at the end of each round. */
  const upTo: [Way, number][] = [];
  for (let round = 0; round < rounds * ways.length && findings.length === 0; round += 1) {
    const way = ways[round % ways.length]!;
    context.reportProgress(`round ${round + 1}: ${way}, ${history.acknowledged.length} acknowledged`);
    await sleep(1_000);
    const makeStandby = await failPrimary(standbys, way, frozenMs);
    await sleep(PROMOTE_AFTER_MS);
    await standbys.promote();
    const promotedAt = Date.now();
    const lastFailureMs = (): number => recoveryTimeMs(prober.results, promotedAt);
    while (
      Date.now() - promotedAt < Math.max(maxRecoveryMs, lastFailureMs() + CALM_MS) &&
      lastFailureMs() <= maxRecoveryMs
    )
      await sleep(100);
    if (lastFailureMs() > maxRecoveryMs)
      findings.push(`A request still failed ${lastFailureMs()} ms after the promotion (${way})`);
    recoveryTimesMs[way].push(lastFailureMs());
    upTo.push([way, history.acknowledged.length]);
    findings.push(...endedProcesses(service.processes));
    if (findings.length === 0) await makeStandby();
  }
  const probed = await prober.stop();
  const unexpected = probed.filter(({ status }) => status !== 200 && status !== 503);
  if (unexpected.length > 0)
    findings.push(
      `${unexpected.length} of ${probed.length} probes got neither 200 nor 503: ${describeResult(unexpected[0]!)}`,
    );
  if (!probed.some(({ status }) => status === 503)) findings.push('No request got a 503');
  let lost = 0;
  const lostBy: Record<Way, number[]> = { killed: [], frozen: [], switched: [], behind: [] };
  if (findings.length === 0) {
    await stop();
    const ids = new Set((await wholeLog(log)).map(({ id }) => id));
    const isLost = (event: Sent): boolean => !ids.has(eventId(event));
    const kept = isSynchronous ? history.acknowledged : history.acknowledged.filter((event) => !isLost(event));
    lost = history.acknowledged.length - kept.length;
    if (!isSynchronous && lost === 0) findings.push('No event was lost, so the run did not test a loss');
    for (const [round, [way, end]] of upTo.entries()) {
      const lostInRound = history.acknowledged.slice(upTo[round - 1]?.[1] ?? 0, end).filter(isLost).length;
      if (way === 'switched' && lostInRound > 0)
        findings.push(`${lostInRound} acknowledged events were lost in a planned switchover`);
      lostBy[way].push(lostInRound);
    }
    findings.push(...history.wrong, ...(await checkAll(context, opened, kept)));
  }
  const unavailable = probed.filter(({ status }) => status === 503).length;
  const byWay = (valuesOf: (way: Way) => readonly (number | string)[]): string =>
    ways.map((way) => `${way} ${valuesOf(way).join(' ')}`).join(', ');
  const seconds = byWay((way) => recoveryTimesMs[way].map((ms) => (ms / 1000).toFixed(1)));
  return {
    workload: `${rounds} × ${ways.join(', ')}; ${history.acknowledged.length} acknowledged`,
    observed:
      `${lost} lost${isSynchronous ? '' : ` (${byWay((way) => lostBy[way])})`}, none stored twice, recount without differences, no process ` +
      `restarted; ${unavailable} of ${probed.length} probes 503; seconds from promotion to recovery: ${seconds}`,
    findings,
  };
};

const skipReason = requireProgram(findPrograms() !== undefined, POSTGRES_PROGRAMS);

export const failover: Scenario<FailoverScale> = {
  name: 'F25',
  what: 'the primary of three synchronous PostgreSQL servers is killed, frozen or switched over',
  full: { rounds: 5, ways: WAYS, frozenMs: 30_000, maxRecoveryMs: 5_000 },
  skipReason,
  run: (context, scale) => failOver(context, scale),
  guard: 'an address in DATABASE_URL that follows the primary',
  controlScale: { rounds: 1, ways: ['killed'] },
  withoutGuard: (context, scale) => failOver(context, scale, false),
};

export const asynchronousFailover: Scenario<FailoverScale> = {
  name: 'F25a',
  what: 'F25 with asynchronous standbys, also while they lag',
  full: { rounds: 5, ways: ['behind', ...WAYS], frozenMs: 30_000, maxRecoveryMs: 5_000 },
  skipReason,
  run: (context, scale) => failOver(context, scale),
  guard: 'an address in DATABASE_URL that follows the primary',
  controlScale: { rounds: 1, ways: ['behind'] },
  withoutGuard: (context, scale) => failOver(context, scale, false),
};
