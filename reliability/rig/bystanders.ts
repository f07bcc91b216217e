import { once } from 'node:events';
import { constants, getPriority, setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { percentile } from './ask.js';
import type { Probed } from './probe.js';
import { builtUrl } from './processes.js';
import type { Scene } from './scene.js';
import { QUIET } from './site.js';
import type { Target, Weight } from './target.js';

const MB = 1024 * 1024;
/** Connections to the database come and go by themselves; so does what the first requests of a kind leave in memory. */
const SLACK_DESCRIPTORS = 40;
const SLACK_MEMORY = 24 * MB;

interface Limits {
  /** How long they are watched before the attack, to know what quiet is. */
  readonly quietMs: number;
  /** How much slower than quiet the others may become, at the 99th percentile. */
  readonly factor: number;
  /** ms. What is faster than this nobody calls slow. */
  readonly floorMs: number;
  /** ms, every single look at liveness */
  readonly liveMs: number;
  /** ms from an event's acknowledgement until it is counted, at the 99th percentile */
  readonly countedMs: number;
  /** ms until it holds again what it held before */
  readonly recoveryMs: number;
}

/** For a machine that does nothing else. Runs and counter-tests are judged alike. */
export const STRICT: Limits = {
  quietMs: 10_000,
  factor: 2,
  floorMs: 25,
  liveMs: 250,
  countedMs: 500,
  recoveryMs: 30_000,
};

/** Organizations that ask for their metrics, groups and verdicts and send events, from a thread and address of theirs. */
const watch = (target: Target): (() => Promise<readonly Probed[]>) => {
  const { url, ingest, keys } = target;
  const worker = new Worker(new URL(builtUrl('reliability/rig/bystander-worker')), {
    workerData: { url, ingest, keys: QUIET.map((organization) => keys[organization]), organizations: QUIET },
  });
  return async () => {
    const results = once(worker, 'message');
    worker.postMessage('stop');
    const [probed] = (await results) as [readonly Probed[]];
    await worker.terminate();
    return probed;
  };
};

const watchFor = async (target: Target, ms: number): Promise<readonly Probed[]> => {
  const stop = watch(target);
  await sleep(ms);
  return stop();
};

const times = (probed: readonly Probed[], ...names: readonly string[]): number[] =>
  probed.filter(({ what }) => names.includes(what)).map(({ ms }) => ms);

const p99 = (probed: readonly Probed[]): number =>
  percentile(times(probed, 'metrics', 'groups', 'check', 'events'), 0.99);
const uncounted = (probed: readonly Probed[]): number => percentile(times(probed, 'counted'), 0.99);
const slowestLife = (probed: readonly Probed[]): number => Math.max(0, ...times(probed, 'live'));
const isRefused = ({ status }: Probed): boolean => status < 200 || status > 299;

/** What of it somebody else has noticed. */
const noticed = (quiet: readonly Probed[], during: readonly Probed[], limits: Limits): string[] => {
  const findings: string[] = [];
  const refused = during.filter(isRefused);
  if (refused.length > 0) {
    const { what, status, error } = refused[0]!;
    findings.push(`${refused.length} requests of others failed, the first: ${what} with ${error ?? status}`);
  }
  const most = Math.max(limits.floorMs, limits.factor * p99(quiet));
  if (p99(during) > most)
    findings.push(`p99 of the others is ${Math.round(p99(during))} ms, quiet ${Math.round(p99(quiet))} ms`);
  if (slowestLife(during) > limits.liveMs) findings.push(`Liveness took ${Math.round(slowestLife(during))} ms`);
  if (uncounted(during) > limits.countedMs)
    findings.push(`p99 of the others until they are counted is ${Math.round(uncounted(during))} ms`);
  return findings;
};

const recovered = async (target: Target, before: Weight, { recoveryMs }: Limits): Promise<string[]> => {
  for (const until = Date.now() + recoveryMs; ; await sleep(500)) {
    if (!target.api.isRunning) return [`The API has ended with ${target.api.exitCode}`];
    const after = await target.weigh();
    const descriptors = after.descriptors - before.descriptors;
    const memory = after.memory - before.memory;
    if (descriptors <= SLACK_DESCRIPTORS && memory <= SLACK_MEMORY) return [];
    if (Date.now() > until)
      return [`After ${recoveryMs / 1000} s it still holds ${descriptors} descriptors and ${memory} bytes more`];
  }
};

/**
 * Runs an attack from this thread at the lowest priority: an attacker has machines of their own, so what the attack
 * itself costs may not come out of the service's processor. Threads and processes started before keep theirs.
 */
const asIfFromElsewhere = async (attack: () => Promise<unknown>): Promise<void> => {
  const before = getPriority();
  setPriority(constants.priority.PRIORITY_LOW);
  try {
    await attack();
  } finally {
    // Only a superuser may; without it the next attacks, and what they start, have the lowest priority throughout.
    try {
      setPriority(before);
    } catch {}
  }
};

export interface Noticed {
  readonly seen: string;
  readonly findings: readonly string[];
}

/**
 * Makes an attack beside organizations that do what they always do: none of their requests may fail or become slow, the
 * process must answer, and hold in the end what it held before.
 */
export const unnoticed = async (
  scene: Scene,
  target: Target,
  attack: () => Promise<unknown>,
  limits = STRICT,
): Promise<Noticed> => {
  const quiet = await watchFor(target, limits.quietMs);
  const before = await target.weigh();
  const stop = watch(target);
  try {
    await asIfFromElsewhere(attack);
  } finally {
    scene.tell('looking at what is left of it');
  }
  const during = await stop();
  const findings = [...noticed(quiet, during, limits), ...(await recovered(target, before, limits))];
  return {
    seen:
      `p99 of the others ${Math.round(p99(during))} ms (quiet ${Math.round(p99(quiet))}), ` +
      `until counted ${Math.round(uncounted(during))} ms (${Math.round(uncounted(quiet))}), ` +
      `${during.filter(isRefused).length} of their ${during.length} requests refused, ` +
      `liveness at most ${Math.round(slowestLife(during))} ms`,
    findings,
  };
};
