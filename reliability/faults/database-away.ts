import { setTimeout as sleep } from 'node:timers/promises';
import { startProxy } from '../../test/support/tcp-proxy.js';
import type { Outcome, Scenario } from '../scenario.js';
import { percentile } from '../rig/ask.js';
import { checkAll, checkVerify, counted } from '../rig/check.js';
import type { Keys } from '../rig/keys.js';
import { History, inBatches, Sender, fullLoad } from '../rig/load.js';
import { open } from '../rig/opened.js';
import { died, goodAfter, judgeAway, naive, probes, type ReturnDose, watchReturn } from '../rig/outage.js';
import { OwnPostgres } from '../rig/own-postgres.js';
import { between, type Probed, Prober } from '../rig/probe.js';
import type { Environment, Process } from '../rig/processes.js';
import type { Scene } from '../rig/scene.js';

interface Dose extends ReturnDose {
  readonly rounds: number;
  /** How long the database is away at the least. */
  readonly awayMs: number;
  readonly answerMs: number;
  readonly liveMs: number;
}

/** A database, and what takes it away and brings it back. */
interface Losable {
  readonly env: Environment;
  readonly lose: () => Promise<void>;
  readonly bringBack: () => Promise<void>;
}

/** How long a 503 is waited for while the database is away. ms */
const REFUSED_WITHIN_MS = 30_000;

const killable = async (scene: Scene): Promise<Losable> => {
  const postgres = await OwnPostgres.create(scene);
  const env = { DATABASE_URL: await postgres.start() };
  return { env, lose: () => postgres.kill(), bringBack: async () => void (await postgres.start()) };
};

const silenceable = async (scene: Scene): Promise<Losable> => {
  const database = await scene.database({ migrated: false });
  const { proxy, url } = await startProxy(database.url);
  scene.later(() => proxy.close());
  return { env: { DATABASE_URL: url }, lose: async () => proxy.freeze(), bringBack: async () => proxy.unfreeze() };
};

interface Asked {
  readonly url: () => string;
  readonly keys?: Keys | undefined;
  readonly everyMs: number;
  readonly processes: readonly Process[];
}

interface Away {
  readonly findings: string[];
  /** What was asked meanwhile. */
  readonly asked: readonly Probed[];
  /** ms, at worst */
  readonly recovery: number;
}

/** Takes the database away again and again, until something is found. */
const loseAgainAndAgain = async (
  scene: Scene,
  { rounds, awayMs, answerMs, liveMs, goodMs, calmMs }: Dose,
  { lose, bringBack }: Losable,
  { url, keys, everyMs, processes }: Asked,
): Promise<Away> => {
  const findings: string[] = [];
  const asked: Probed[] = [];
  let recovery = 0;
  for (let round = 1; round <= rounds && findings.length === 0; round += 1) {
    scene.tell(`round ${round} of ${rounds}`);
    const prober = new Prober(probes(url, keys, everyMs));
    await sleep(500);
    const lostAt = Date.now();
    await lose();
    await sleep(awayMs);
    // A busy machine may take longer than that until it answers the first request.
    const isRefused = (): boolean => prober.results.some(({ at, status }) => at >= lostAt - 50 && status === 503);
    for (const until = Date.now() + REFUSED_WITHIN_MS; !isRefused() && Date.now() < until; await sleep(20))
      if (died(processes).length > 0) break;
    await bringBack();
    const backAt = Date.now();
    // A process that has ended never answers again.
    if (died(processes).length === 0) await watchReturn(prober, backAt, { goodMs, calmMs });
    const results = await prober.stop();
    const away = between(results, lostAt - 50, backAt);
    findings.push(...judgeAway(away, answerMs, liveMs), ...died(processes));
    if (!away.some(({ status }) => status === 503)) findings.push('Nothing was answered with 503');
    const good = goodAfter(results, backAt);
    if (good > goodMs) findings.push(`Not good ${good} ms after the database was back`);
    asked.push(...away);
    recovery = Math.max(recovery, good);
  }
  return { findings, asked, recovery };
};

const without = async (scene: Scene, dose: Dose, losable: Losable, more: Environment = {}): Promise<Outcome> => {
  const api = await naive(scene, { ...losable.env, ...more });
  const asked = { url: () => api.url!, everyMs: 40, processes: [api] };
  return { dose: '1 round', seen: '-', findings: (await loseAgainAndAgain(scene, dose, losable, asked)).findings };
};

const slowest = (probed: readonly Probed[]): number => Math.round(Math.max(...probed.map(({ ms }) => ms)));

export const killedPostgres: Scenario<Dose> = {
  name: 'F4',
  what: 'PostgreSQL killed and started again under load',
  full: { rounds: 10, awayMs: 3_000, answerMs: 2_000, liveMs: 2_000, goodMs: 1_000, calmMs: Infinity },
  everyChange: { rounds: 1, awayMs: 1_500, answerMs: Infinity, liveMs: Infinity, goodMs: 120_000, calmMs: 1_500 },
  run: async (scene, dose) => {
    const losable = await killable(scene);
    const opened = await open(scene, losable.env);
    const { service, keys } = opened;
    const history = new History(scene);
    const sender = new Sender(() => service.url, keys.ingest, history, 2);
    const stop = sender.keepDelivering(inBatches(fullLoad(scene.random), 50));
    const asked = { url: () => service.url, keys, everyMs: 40, processes: service.processes };
    const { findings, asked: away, recovery } = await loseAgainAndAgain(scene, dose, losable, asked);
    await stop();
    if (findings.length === 0)
      findings.push(...history.wrong, ...(await checkAll(scene, opened, history.acknowledged)));
    return {
      dose: `${dose.rounds} × killed for ${dose.awayMs / 1000} s, ${history.acknowledged.length} acknowledged`,
      seen: `slowest answer ${slowest(away)} ms, good again after ${recovery} ms`,
      findings,
    };
  },
  guard: 'a listener for broken connections, and 503 when one breaks',
  without: async (scene, dose) => without(scene, dose, await killable(scene)),
};

export const silentPostgres: Scenario<Dose> = {
  name: 'F5',
  what: 'PostgreSQL stops answering',
  full: { rounds: 3, awayMs: 30_000, answerMs: 5_000, liveMs: 50, goodMs: 3_000, calmMs: Infinity },
  run: async (scene, dose) => {
    const losable = await silenceable(scene);
    const { service, keys, env } = await open(scene, losable.env);
    const asked = { url: () => service.url, keys, everyMs: 100, processes: service.processes };
    const { findings, asked: away, recovery } = await loseAgainAndAgain(scene, dose, losable, asked);
    if (findings.length === 0) {
      await counted(service.url);
      findings.push(...(await checkVerify(scene, env)));
    }
    const [lives, others] = [true, false].map((isLife) => away.filter(({ what }) => (what === 'live') === isLife));
    const p99 = percentile(
      lives!.map(({ ms }) => ms),
      0.99,
    ).toFixed(1);
    return {
      dose: `${dose.rounds} × ${dose.awayMs / 1000} s of silence, 20 requests a second`,
      seen:
        `slowest answer ${slowest(others!)} ms, liveness at most ${slowest(lives!)} ms (p99 ${p99} ms), ` +
        `good again after ${recovery} ms`,
      findings,
    };
  },
  guard: 'time limits of our own around the database',
  counterTest: { rounds: 1 },
  without: async (scene, dose) => without(scene, dose, await silenceable(scene), { LISTENS: 'yes' }),
};
