import { setTimeout as sleep } from 'node:timers/promises';
import { cloudEvent, sentReport } from '../../test/support/upstream.js';
import type { Keys } from './keys.js';
import { type Probe, type Probed, Prober } from './probe.js';
import { type Environment, Process } from './processes.js';
import type { Scene } from './scene.js';

/** Of an organization of its own: that of a load may be held back while the projector is behind. */
export const probe = (n: number): object => cloudEvent(sentReport(`p-${n}`, { organization: 'probed' }, `probe-${n}`));

/** What is probed: a read, a write, and whether the process lives. */
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

export const shown = ({ what, ms, status, error }: Probed): string =>
  `${what} ended after ${Math.round(ms)} ms with ${status === 0 ? error : status}`;

/** At most three of a kind are told in full. */
const first = (kind: string, found: readonly string[]): string[] =>
  found.length === 0 ? [] : [`${found.length} ${kind}: ${found.slice(0, 3).join('; ')}`];

/** How requests must fare while the database is away. */
export const judgeAway = (results: readonly Probed[], answerMs: number, liveMs: number): string[] => {
  const asked = results.filter(({ what }) => what !== 'live');
  return [
    ...first('requests were not answered in time', asked.filter(({ ms }) => ms > answerMs).map(shown)),
    ...first(
      'requests got neither a good answer nor a 503',
      asked.filter(({ status }) => status !== 200 && status !== 503).map(shown),
    ),
    ...first(
      'answers 503 have no Retry-After',
      asked.filter(({ status, answer }) => status === 503 && !answer?.headers['retry-after']).map(shown),
    ),
    ...first(
      'looks at liveness failed or took long',
      results.filter(({ what, ms, status }) => what === 'live' && (ms > liveMs || status !== 200)).map(shown),
    ),
  ];
};

/** From when on every request was answered well. ms after `from`. */
export const goodAfter = (results: readonly Probed[], from: number): number =>
  Math.max(0, ...results.filter(({ at, status }) => at >= from && status !== 200).map(({ at }) => at - from));

export const died = (processes: readonly Process[]): string[] =>
  processes.filter(({ isRunning }) => !isRunning).map(({ program, exitCode }) => `${program} ended with ${exitCode}`);

export interface ReturnDose {
  /** How soon all must be well again once the database is back. ms */
  readonly goodMs: number;
  /** All being well for so long it is not watched until then. ms */
  readonly calmMs: number;
}

/** Watches until everything was answered well for `calmMs`, at most until a while after it must be. ms */
export const watchReturn = async (prober: Prober, from: number, { calmMs, goodMs }: ReturnDose): Promise<void> => {
  const end = from + goodMs + 500;
  for (let now = Date.now(); now < end; now = Date.now()) {
    const calmSince = from + goodAfter(prober.results, from);
    if (now - calmSince >= calmMs) return;
    await sleep(Math.min(20, end - now));
  }
};

/** A process that answers reads and writes, on the naive side without a word to the log. */
export const naive = async (scene: Scene, env: Environment): Promise<Process> => {
  const api = Process.start(scene, 'reliability/rig/naive-api', env);
  while (api.url === undefined && api.isRunning) await sleep(20);
  return api;
};
