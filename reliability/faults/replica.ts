import { findPrograms, POSTGRES_PROGRAMS } from '../../test/support/postgres-programs.js';
import type { Outcome, Scenario } from '../scenario.js';
import { percentile } from '../rig/ask.js';
import { needs } from '../rig/needs.js';
import { died } from '../rig/outage.js';
import { checkReads, type Period, type Read, Readers } from '../rig/readers.js';
import { Replicated, type Way, WAYS } from '../rig/replicated.js';
import type { Scene } from '../rig/scene.js';

interface ReplicaDose {
  /** Of each way. */
  readonly rounds: number;
  readonly ways: readonly Way[];
  /** How long each lasts. ms */
  readonly lastsMs: number;
  /** Reports that are there before. */
  readonly reports: number;
  /** How long metrics requests a second are counted, with the replica and without; 0: they are not. ms */
  readonly measuredMs: number;
}

/** `READ_MAX_LAG_SECONDS`. Seconds */
const MAX_LAG = 1;
/** Reads of the primary's position are apart, and take time; generous on a busy machine. ms */
const NOTICED_WITHIN_MS = 3_000;
const FILE_EVERY_MS = 30;

/** Answers must not be of before what the primary had counted by more than may be. */
const checkAge = (reads: readonly Read[], ofPrimary: readonly Read[]): string[] => {
  const seen = ofPrimary.filter(({ status }) => status === 200).sort((a, b) => a.at + a.ms - b.at - b.ms);
  const late = reads.flatMap(({ what, at, status, asOf }) => {
    // The feed is as of its last element, where more may follow.
    if (status !== 200 || what === 'feed') return [];
    const behind = (seen.findLast((one) => one.at + one.ms < at)?.asOf ?? 0) - asOf;
    return behind > MAX_LAG * 1_000 + NOTICED_WITHIN_MS ? [{ what, behind }] : [];
  });
  const [first] = late.sort((a, b) => b.behind - a.behind);
  return first ? [`${late.length} answers were too old: ${first.what} was ${first.behind} ms behind the primary`] : [];
};

/** Metrics requests of two processes with the replica beside one without. */
const compared = async (replicated: Replicated, ms: number): Promise<string> => {
  const { plain, withReplica } = replicated;
  const alone = await replicated.perSecond([plain.url], ms);
  const two = await replicated.perSecond(
    withReplica.map(({ url }) => url),
    ms,
  );
  return `; metrics a second: ${alone.rate} by one process without, ${two.rate} by two with it, ${two.ofPrimary} in all by the primary`;
};

const troubled = async (
  scene: Scene,
  { rounds, ways, lastsMs, reports: size, measuredMs }: ReplicaDose,
  maxLag = MAX_LAG,
): Promise<Outcome> => {
  const replicated = await Replicated.start(scene, maxLag);
  const { reports, plain, withReplica, key } = replicated;
  while (reports.count < size) await reports.file(Math.min(500, size - reports.count));
  const stop = new AbortController();
  const filing = reports.keepFiling(FILE_EVERY_MS, stop.signal);
  const urls = withReplica.map(({ url }) => url);
  const readers = new Readers(urls, key);
  const others = new Readers([plain.url], key);
  scene.later(async () => {
    stop.abort();
    await Promise.all([readers.stop(), others.stop()]);
  });
  const periods: Period[] = [];
  const findings: string[] = [];
  const calm = await replicated.usesReplica(readers);
  for (let round = 0; round < rounds; round += 1)
    for (const way of ways) {
      scene.tell(`round ${round + 1}: ${way}, ${reports.count} reports`);
      periods.push({ name: way, from: Date.now() });
      await replicated.disturb(way, lastsMs);
      await replicated.usesReplica(readers);
    }
  stop.abort();
  await filing;
  reports.close();
  const [reads, ofPrimary] = [await readers.stop(), await others.stop()];
  const rates = measuredMs > 0 ? await compared(replicated, measuredMs) : '';
  findings.push(...readers.findings, ...others.findings);
  findings.push(...checkReads(reads, reports, periods), ...checkAge(reads, ofPrimary));
  findings.push(...checkReads(ofPrimary, reports, periods).map((finding) => `Without a replica: ${finding}`));
  const slow = reads.map(({ ms }) => ms);
  findings.push(...[plain, ...withReplica].flatMap(({ processes }) => died(processes)));
  return {
    dose: `${rounds} × ${ways.join(', ')} for ${lastsMs / 1000} s; ${reports.count} reports`,
    seen:
      `${reads.length} reads, all 200 and true to X-As-Of, p99 ${Math.round(percentile(slow, 0.99))} ms, slowest ` +
      `${Math.round(Math.max(...slow))} ms; ${replicated.conflicts} cancelled by recovery, ${replicated.cancelled} by ` +
      `hand; used again after each; in calm ${calm} by the replica, 0 by the primary${rates}`,
    findings,
  };
};

export const troubledReplica: Scenario<ReplicaDose> = {
  name: 'F26',
  what: 'the standby that answers reads is silent, lags, cancels, or is gone',
  full: { rounds: 5, ways: WAYS, lastsMs: 10_000, reports: 20_000, measuredMs: 10_000 },
  unfit: needs(findPrograms() !== undefined, POSTGRES_PROGRAMS),
  run: (scene, dose) => troubled(scene, dose),
  guard: 'READ_MAX_LAG_SECONDS',
  counterTest: { rounds: 1, ways: ['lagging'], lastsMs: 8_000, reports: 1_000, measuredMs: 0 },
  without: (scene, dose) => troubled(scene, dose, 86_400),
};
