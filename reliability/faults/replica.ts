import { findPrograms, POSTGRES_PROGRAMS } from '../../test/support/postgres-programs.js';
import type { Outcome, Scenario } from '../scenario.js';
import { percentile } from '../rig/http-request.js';
import { requireProgram } from '../rig/require-program.js';
import { endedProcesses } from '../rig/outage.js';
import { checkReads, type Period, type Read, Readers } from '../rig/readers.js';
import { Replicated, type Disturbance, DISTURBANCES } from '../rig/replicated.js';
import type { RunContext } from '../rig/run-context.js';

interface ReplicaScale {
  /** Rounds per way. */
  readonly rounds: number;
  readonly ways: readonly Disturbance[];
  /** The duration of each disturbance in ms. */
  readonly lastsMs: number;
  /** The number of reports before the first disturbance. */
  readonly reports: number;
  /** How long the metrics throughput with and without the replica is measured, in ms; 0: not at all. */
  readonly measuredMs: number;
}

/** `READ_MAX_LAG_SECONDS` */
const MAX_LAG = 1;
/** How late the service may notice a lag. */
const NOTICED_WITHIN_MS = 3_000;
const FILE_EVERY_MS = 30;

/** Checks that responses are not older than the allowed lag behind the primary. */
const checkAge = (reads: readonly Read[], ofPrimary: readonly Read[]): string[] => {
  const primaryReads = ofPrimary.filter(({ status }) => status === 200).sort((a, b) => a.at + a.ms - b.at - b.ms);
  const lateReads = reads.flatMap(({ what, at, status, asOf }) => {
    // The feed is as of its last element.
    if (status !== 200 || what === 'feed') return [];
    const behind = (primaryReads.findLast((one) => one.at + one.ms < at)?.asOf ?? 0) - asOf;
    return behind > MAX_LAG * 1_000 + NOTICED_WITHIN_MS ? [{ what, behind }] : [];
  });
  const [first] = lateReads.sort((a, b) => b.behind - a.behind);
  return first
    ? [`${lateReads.length} responses were too old: ${first.what} was ${first.behind} ms behind the primary`]
    : [];
};

/** Compares the metrics throughput of two processes with the replica and of one process without it. */
const compared = async (replicated: Replicated, ms: number): Promise<string> => {
  const { primaryOnly, withReplica } = replicated;
  const oneProcess = await replicated.perSecond([primaryOnly.url], ms);
  const twoProcesses = await replicated.perSecond(
    withReplica.map(({ url }) => url),
    ms,
  );
  return `; metrics requests per second: ${oneProcess.rate} by one process without the replica, ${twoProcesses.rate} by two processes with it; ${twoProcesses.ofPrimary} reads by the primary`;
};

const troubled = async (
  context: RunContext,
  { rounds, ways, lastsMs, reports: size, measuredMs }: ReplicaScale,
  maxLag = MAX_LAG,
): Promise<Outcome> => {
  const replicated = await Replicated.start(context, maxLag);
  const { reports, primaryOnly, withReplica, key } = replicated;
  while (reports.count < size) await reports.file(Math.min(500, size - reports.count));
  const stop = new AbortController();
  const filing = reports.keepFiling(FILE_EVERY_MS, stop.signal);
  const urls = withReplica.map(({ url }) => url);
  const readers = new Readers(urls, key);
  const primaryReaders = new Readers([primaryOnly.url], key);
  context.onEnd(async () => {
    stop.abort();
    await Promise.all([readers.stop(), primaryReaders.stop()]);
  });
  const periods: Period[] = [];
  const findings: string[] = [];
  const undisturbedReads = await replicated.waitUntilReplicaServes(readers);
  for (let round = 0; round < rounds; round += 1)
    for (const way of ways) {
      context.reportProgress(`round ${round + 1}: ${way}, ${reports.count} reports`);
      periods.push({ name: way, from: Date.now() });
      await replicated.disturb(way, lastsMs);
      await replicated.waitUntilReplicaServes(readers);
    }
  stop.abort();
  await filing;
  reports.close();
  const [reads, ofPrimary] = [await readers.stop(), await primaryReaders.stop()];
  const rates = measuredMs > 0 ? await compared(replicated, measuredMs) : '';
  findings.push(...readers.findings, ...primaryReaders.findings);
  findings.push(...checkReads(reads, reports, periods), ...checkAge(reads, ofPrimary));
  findings.push(...checkReads(ofPrimary, reports, periods).map((finding) => `Without a replica: ${finding}`));
  const slow = reads.map(({ ms }) => ms);
  findings.push(...[primaryOnly, ...withReplica].flatMap(({ processes }) => endedProcesses(processes)));
  return {
    workload: `${rounds} × ${ways.join(', ')} for ${lastsMs / 1000} s; ${reports.count} reports`,
    observed:
      `${reads.length} reads, all 200 with a correct X-As-Of, p99 ${Math.round(percentile(slow, 0.99))} ms, slowest ` +
      `${Math.round(Math.max(...slow))} ms; ${replicated.conflicts} cancelled by recovery conflicts, ${replicated.cancelled} by ` +
      `the test; the replica was used again each time and, undisturbed, served ${undisturbedReads} reads, the primary 0${rates}`,
    findings,
  };
};

export const troubledReplica: Scenario<ReplicaScale> = {
  name: 'F26',
  what: 'the read replica is frozen, lags, cancels queries or is killed',
  full: { rounds: 5, ways: DISTURBANCES, lastsMs: 10_000, reports: 20_000, measuredMs: 10_000 },
  skipReason: requireProgram(findPrograms() !== undefined, POSTGRES_PROGRAMS),
  run: (context, scale) => troubled(context, scale),
  guard: 'READ_MAX_LAG_SECONDS',
  controlScale: { rounds: 1, ways: ['lagging'], lastsMs: 8_000, reports: 1_000, measuredMs: 0 },
  withoutGuard: (context, scale) => troubled(context, scale, 86_400),
};
