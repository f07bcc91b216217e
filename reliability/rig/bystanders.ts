import { once } from 'node:events';
import { constants, getPriority, setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { percentile } from './http-request.js';
import type { ProbeResult } from './probe.js';
import { builtUrl } from './processes.js';
import type { RunContext } from './run-context.js';
import { QUIET } from './shared-services.js';
import type { Target, ResourceUse } from './target.js';

const MB = 1024 * 1024;
/** The allowed growth, because database connections and the memory of caches vary even without an attack. */
const MAX_ADDED_DESCRIPTORS = 40;
const MAX_ADDED_BYTES = 24 * MB;

interface Limits {
  /** How long the bystanders are measured before the attack. */
  readonly quietMs: number;
  /** The allowed ratio of their p99 during the attack to their p99 before the attack. */
  readonly factor: number;
  /** A p99 below this is never a finding, in ms. */
  readonly floorMs: number;
  /** The limit of every liveness check, in ms. */
  readonly maxLivenessMs: number;
  /** The limit of the p99 from acknowledgement to counted, in ms. */
  readonly countedMs: number;
  /** The time within which memory and descriptors must return to their values before the attack, in ms. */
  readonly recoveryMs: number;
}

/** Limits for an otherwise idle machine, both for runs and for negative controls. */
export const STRICT: Limits = {
  quietMs: 10_000,
  factor: 2,
  floorMs: 25,
  maxLivenessMs: 250,
  countedMs: 500,
  recoveryMs: 30_000,
};

/**
 * Starts a thread in which other organizations read metrics, groups and verdicts and send events, from another address
 * than the attacker. @returns a function that stops the thread and returns the results
 */
const watch = (target: Target): (() => Promise<readonly ProbeResult[]>) => {
  const { url, upstreamKey, keys } = target;
  const worker = new Worker(new URL(builtUrl('reliability/rig/bystander-worker')), {
    workerData: { url, upstreamKey, keys: QUIET.map((organization) => keys[organization]), organizations: QUIET },
  });
  return async () => {
    const results = once(worker, 'message');
    worker.postMessage('stop');
    const [probed] = (await results) as [readonly ProbeResult[]];
    await worker.terminate();
    return probed;
  };
};

const watchFor = async (target: Target, ms: number): Promise<readonly ProbeResult[]> => {
  const stop = watch(target);
  await sleep(ms);
  return stop();
};

const times = (probed: readonly ProbeResult[], ...names: readonly string[]): number[] =>
  probed.filter(({ what }) => names.includes(what)).map(({ ms }) => ms);

const p99 = (probed: readonly ProbeResult[]): number =>
  percentile(times(probed, 'metrics', 'groups', 'check', 'events'), 0.99);
const countedP99 = (probed: readonly ProbeResult[]): number => percentile(times(probed, 'counted'), 0.99);
const slowestLiveness = (probed: readonly ProbeResult[]): number => Math.max(0, ...times(probed, 'live'));
const hasFailed = ({ status }: ProbeResult): boolean => status < 200 || status > 299;

/** Returns findings about the effects of the attack on other organizations. */
const checkImpact = (quiet: readonly ProbeResult[], during: readonly ProbeResult[], limits: Limits): string[] => {
  const findings: string[] = [];
  const failed = during.filter(hasFailed);
  if (failed.length > 0) {
    const { what, status, error } = failed[0]!;
    findings.push(
      `${failed.length} requests of other organizations failed, the first: ${what} with ${error ?? status}`,
    );
  }
  const maxP99Ms = Math.max(limits.floorMs, limits.factor * p99(quiet));
  if (p99(during) > maxP99Ms)
    findings.push(
      `The p99 of other organizations is ${Math.round(p99(during))} ms; before the attack it was ${Math.round(p99(quiet))} ms`,
    );
  if (slowestLiveness(during) > limits.maxLivenessMs)
    findings.push(`Liveness took ${Math.round(slowestLiveness(during))} ms`);
  if (countedP99(during) > limits.countedMs)
    findings.push(
      `The p99 of other organizations from acknowledgement to counted is ${Math.round(countedP99(during))} ms`,
    );
  return findings;
};

/** Waits until memory and descriptors are back to their values before the attack. @returns a finding if they are not */
const checkRecovery = async (target: Target, before: ResourceUse, { recoveryMs }: Limits): Promise<string[]> => {
  for (const until = Date.now() + recoveryMs; ; await sleep(500)) {
    if (!target.api.isRunning) return [`The API has ended with ${target.api.exitCode}`];
    const after = await target.measureResources();
    const descriptors = after.descriptors - before.descriptors;
    const memory = after.memory - before.memory;
    if (descriptors <= MAX_ADDED_DESCRIPTORS && memory <= MAX_ADDED_BYTES) return [];
    if (Date.now() > until)
      return [
        `${recoveryMs / 1000} s after the attack the process holds ${descriptors} more descriptors and ${memory} more bytes`,
      ];
  }
};

/**
 * Runs an attack in this thread at the lowest priority, because a real attacker would not use the CPU of the service.
 * Threads and processes that are already running keep their priority.
 */
const withLowestPriority = async (attack: () => Promise<unknown>): Promise<void> => {
  const before = getPriority();
  setPriority(constants.priority.PRIORITY_LOW);
  try {
    await attack();
  } finally {
    // Only root may raise the priority again. Otherwise later attacks keep the lowest priority.
    try {
      setPriority(before);
    } catch {}
  }
};

export interface BystanderOutcome {
  readonly observed: string;
  readonly findings: readonly string[];
}

/**
 * Runs an attack while other organizations use the service. None of their requests may fail or become slow, liveness
 * checks must succeed, and afterwards the process must hold no more memory and descriptors than before.
 */
export const withBystanders = async (
  context: RunContext,
  target: Target,
  attack: () => Promise<unknown>,
  limits = STRICT,
): Promise<BystanderOutcome> => {
  const quiet = await watchFor(target, limits.quietMs);
  const before = await target.measureResources();
  const stop = watch(target);
  try {
    await withLowestPriority(attack);
  } finally {
    context.reportProgress('checking the recovery after the attack');
  }
  const during = await stop();
  const findings = [...checkImpact(quiet, during, limits), ...(await checkRecovery(target, before, limits))];
  return {
    observed:
      `p99 of other organizations ${Math.round(p99(during))} ms (before: ${Math.round(p99(quiet))}), ` +
      `until counted ${Math.round(countedP99(during))} ms (${Math.round(countedP99(quiet))}), ` +
      `${during.filter(hasFailed).length} of their ${during.length} requests failed, ` +
      `liveness at most ${Math.round(slowestLiveness(during))} ms`,
    findings,
  };
};
