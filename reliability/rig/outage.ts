import { setTimeout as sleep } from 'node:timers/promises';
import { cloudEvent, sentReport } from '../../test/support/upstream.js';
import type { Keys } from './keys.js';
import { type Probe, type ProbeResult, Prober } from './probe.js';
import { type Environment, Process } from './processes.js';
import type { RunContext } from './run-context.js';

/** Returns the n-th event of a separate organization, because backpressure may delay events of the load. */
export const probe = (n: number): object => cloudEvent(sentReport(`p-${n}`, { organization: 'probed' }, `probe-${n}`));

/** Probes of a read, a write and liveness. */
export const probes = (url: () => string, keys: Keys | undefined, everyMs: number): Probe[] => [
  { what: 'metrics', url: () => `${url()}/v2/organization/metrics`, key: keys?.read['acme'], everyMs },
  {
    what: 'events',
    url: () => `${url()}/v2/events`,
    key: keys?.ingest,
    each: (n) => ({ events: [probe(n)] }),
    everyMs,
  },
  { what: 'live', url: () => `${url()}/health/live`, everyMs },
];

export const describeResult = ({ what, ms, status, error }: ProbeResult): string =>
  `${what} ended after ${Math.round(ms)} ms with ${status === 0 ? error : status}`;

/** Returns a finding with the number of cases and the first three, or no finding if there are no cases. */
const summarize = (kind: string, cases: readonly string[]): string[] =>
  cases.length === 0 ? [] : [`${cases.length} ${kind}: ${cases.slice(0, 3).join('; ')}`];

/** Checks that all responses during an outage arrived in time and were 200, or 503 with `Retry-After`. */
export const checkOutage = (
  results: readonly ProbeResult[],
  maxResponseMs: number,
  maxLivenessMs: number,
): string[] => {
  const requests = results.filter(({ what }) => what !== 'live');
  return [
    ...summarize(
      'requests got no response in time',
      requests.filter(({ ms }) => ms > maxResponseMs).map(describeResult),
    ),
    ...summarize(
      'requests got neither 200 nor 503',
      requests.filter(({ status }) => status !== 200 && status !== 503).map(describeResult),
    ),
    ...summarize(
      'responses with 503 have no Retry-After',
      requests
        .filter(({ status, response }) => status === 503 && !response?.headers['retry-after'])
        .map(describeResult),
    ),
    ...summarize(
      'liveness checks failed or were slow',
      results
        .filter(({ what, ms, status }) => what === 'live' && (ms > maxLivenessMs || status !== 200))
        .map(describeResult),
    ),
  ];
};

/** Returns how long after `from` the last request failed, in ms. */
export const recoveryTimeMs = (results: readonly ProbeResult[], from: number): number =>
  Math.max(0, ...results.filter(({ at, status }) => at >= from && status !== 200).map(({ at }) => at - from));

export const endedProcesses = (processes: readonly Process[]): string[] =>
  processes.filter(({ isRunning }) => !isRunning).map(({ program, exitCode }) => `${program} ended with ${exitCode}`);

export interface RecoveryScale {
  /** The time after the outage within which all requests must succeed again, in ms. */
  readonly maxRecoveryMs: number;
  /** The recovery is complete after this time without a failed request, in ms. */
  readonly stableMs: number;
}

/** Waits until no request has failed for `stableMs`, at most until `maxRecoveryMs` have passed. */
export const waitForRecovery = async (
  prober: Prober,
  from: number,
  { stableMs, maxRecoveryMs }: RecoveryScale,
): Promise<void> => {
  const end = from + maxRecoveryMs + 500;
  for (let now = Date.now(); now < end; now = Date.now()) {
    const stableSince = from + recoveryTimeMs(prober.results, from);
    if (now - stableSince >= stableMs) return;
    await sleep(Math.min(20, end - now));
  }
};

/** Starts the naive API, and waits until it listens. */
export const startNaiveApi = async (context: RunContext, env: Environment): Promise<Process> => {
  const api = Process.start(context, 'reliability/rig/naive-api', env);
  while (api.url === undefined && api.isRunning) await sleep(20);
  return api;
};
