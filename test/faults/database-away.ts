import { setTimeout as sleep } from 'node:timers/promises';
import { createDatabase } from '../support/postgres.js';
import type { Fault, Outcome } from './fault.js';
import { percentile } from './rig/ask.js';
import { checkCounts, checkLog, checkVerify, counted, wholeLog } from './rig/check.js';
import { issueKeys, keysKnown, openLog } from './rig/keys.js';
import { brandsAndFlags, History, inBatches, Sender, upstream } from './rig/load.js';
import { OwnPostgres } from './rig/own-postgres.js';
import { died, goodAfter, judgeAway, naive, probes, type ReturnDose, watchReturn } from './rig/outage.js';
import { between, Prober } from './rig/probe.js';
import { Proxy } from './rig/proxy.js';
import type { Scene } from './rig/scene.js';
import { Service } from './rig/service.js';

interface KilledDose extends ReturnDose {
  readonly rounds: number;
  readonly awayMs: number;
  readonly answerMs: number;
}

const killPostgres = async (
  scene: Scene,
  { rounds, awayMs, answerMs, goodMs, calmMs }: KilledDose,
  isNaive = false,
): Promise<Outcome> => {
  const postgres = await OwnPostgres.create(scene);
  const env = { DATABASE_URL: await postgres.start() };
  const service = isNaive ? undefined : (await Service.start(scene, { env })).service;
  const api = service?.api ?? (await naive(scene, env));
  const log = await openLog(scene, env.DATABASE_URL);
  const keys = await issueKeys(log);
  if (service) await keysKnown(service.url, keys);
  const history = new History(scene);
  const sender = new Sender(() => api.url!, keys.ingest, history, 2);
  const stop = new AbortController();
  const delivering = isNaive
    ? undefined
    : sender.deliver(inBatches([...brandsAndFlags(), ...upstream(scene.random, 20_000)], 50), stop.signal);
  const findings: string[] = [];
  const answers: number[] = [];
  const recoveries: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    scene.tell(`round ${round} of ${rounds}, ${history.acknowledged.length} acknowledged`);
    const prober = new Prober(probes(() => api.url!, keys, 40));
    await sleep(500);
    const killedAt = Date.now();
    await postgres.kill();
    await sleep(awayMs);
    await postgres.start();
    const backAt = Date.now();
    await watchReturn(prober, backAt, { goodMs, calmMs });
    const results = await prober.stop();
    const away = between(results, killedAt - 100, backAt);
    findings.push(...judgeAway(away, answerMs, answerMs));
    if (!away.some(({ status }) => status === 503)) findings.push('Nothing was answered with 503');
    const good = goodAfter(results, backAt);
    if (good > goodMs) findings.push(`Not good ${good} ms after the database was back`);
    answers.push(...away.map(({ ms }) => ms));
    recoveries.push(good);
    findings.push(...died(service?.processes ?? [api]));
    if (findings.length > 0) break;
  }
  stop.abort();
  await delivering;
  sender.close();
  if (service && findings.length === 0) {
    const stored = await wholeLog(log);
    findings.push(...history.wrong, ...checkLog(stored, history.acknowledged));
    findings.push(...(await checkCounts(scene, service, { keys, env, stored })));
    await service.stop();
  }
  return {
    dose: `${rounds} × killed for ${awayMs / 1000} s, ${history.acknowledged.length} acknowledged`,
    seen: `slowest answer ${Math.round(Math.max(...answers))} ms, good again after ${Math.max(...recoveries)} ms`,
    findings,
  };
};

export const killedPostgres: Fault<KilledDose> = {
  name: 'F4',
  what: 'PostgreSQL killed and started again under load',
  doses: {
    short: { rounds: 1, awayMs: 1_500, answerMs: 8_000, goodMs: 4_000, calmMs: 1_500 },
    full: { rounds: 10, awayMs: 3_000, answerMs: 2_000, goodMs: 1_000, calmMs: Infinity },
  },
  run: (scene, dose) => killPostgres(scene, dose),
  guard: 'a listener for broken connections, and 503 when one breaks',
  without: (scene) => killPostgres(scene, { ...killedPostgres.doses.short, awayMs: 500, goodMs: 500 }, true),
};

interface SilentDose extends ReturnDose {
  readonly rounds: number;
  readonly silentMs: number;
  readonly answerMs: number;
  readonly liveMs: number;
}

const silencePostgres = async (
  scene: Scene,
  { rounds, silentMs, answerMs, liveMs, goodMs, calmMs }: SilentDose,
  isNaive = false,
): Promise<Outcome> => {
  const database = await createDatabase({ migrated: false });
  scene.later(() => database.drop());
  const { proxy, url } = await Proxy.start(scene, database.url);
  const env = { DATABASE_URL: url };
  const service = isNaive ? undefined : (await Service.start(scene, { env })).service;
  const api = service?.api ?? (await naive(scene, { ...env, LISTENS: 'yes' }));
  const log = await openLog(scene, database.url);
  const keys = await issueKeys(log);
  if (service) await keysKnown(service.url, keys);
  const findings: string[] = [];
  const answers: number[] = [];
  const lives: number[] = [];
  const recoveries: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const prober = new Prober(probes(() => api.url!, keys, 100));
    await sleep(500);
    const silentAt = Date.now();
    proxy.silence();
    for (let left = silentMs; left > 0; left -= 1_000) {
      scene.tell(`round ${round} of ${rounds}, silent for ${left / 1000} s more`);
      await sleep(Math.min(left, 1_000));
    }
    proxy.forward();
    const backAt = Date.now();
    await watchReturn(prober, backAt, { goodMs, calmMs });
    const results = await prober.stop();
    const away = between(results, silentAt - 50, backAt);
    findings.push(...judgeAway(away, answerMs, liveMs));
    if (!away.some(({ status }) => status === 503)) findings.push('Nothing was answered with 503');
    const good = goodAfter(results, backAt);
    if (good > goodMs) findings.push(`Not good ${good} ms after the database was back`);
    for (const { what, ms } of away) (what === 'live' ? lives : answers).push(ms);
    recoveries.push(good);
    findings.push(...died(service?.processes ?? [api]));
    if (findings.length > 0) break;
  }
  if (service && findings.length === 0) {
    await counted(service.url);
    findings.push(...(await checkVerify(scene, env)));
    await service.stop();
  }
  return {
    dose: `${rounds} × ${silentMs / 1000} s of silence, 20 requests a second`,
    seen:
      `slowest answer ${Math.round(Math.max(...answers))} ms, liveness at most ${Math.round(Math.max(...lives))} ms ` +
      `(p99 ${percentile(lives, 0.99).toFixed(1)} ms), good again after ${Math.max(...recoveries)} ms`,
    findings,
  };
};

export const silentPostgres: Fault<SilentDose> = {
  name: 'F5',
  what: 'PostgreSQL stops answering',
  doses: {
    short: { rounds: 1, silentMs: 5_500, answerMs: 5_500, liveMs: 1_500, goodMs: 3_000, calmMs: 1_500 },
    full: { rounds: 3, silentMs: 30_000, answerMs: 5_000, liveMs: 50, goodMs: 3_000, calmMs: Infinity },
  },
  run: (scene, dose) => silencePostgres(scene, dose),
  guard: 'time limits of our own around the database',
  without: (scene) => silencePostgres(scene, { ...silentPostgres.doses.short, goodMs: 100 }, true),
};
