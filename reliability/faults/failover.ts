import { setTimeout as sleep } from 'node:timers/promises';
import { findPrograms, POSTGRES_PROGRAMS } from '../../test/support/postgres-programs.js';
import { eventId, type Sent } from '../../test/support/upstream.js';
import type { Outcome, Scenario } from '../scenario.js';
import { checkAll, wholeLog } from '../rig/check.js';
import { brandsAndFlags, History, inBatches, Sender, upstream } from '../rig/load.js';
import { needs } from '../rig/needs.js';
import { open } from '../rig/opened.js';
import { died, goodAfter, probes, shown } from '../rig/outage.js';
import { Prober } from '../rig/probe.js';
import type { Scene } from '../rig/scene.js';
import { Standbys } from '../rig/standbys.js';

const WAYS = ['killed', 'frozen', 'switched'] as const;
/** Killed while its standbys were behind. */
type Way = (typeof WAYS)[number] | 'behind';

interface FailoverDose {
  /** Of each way. */
  readonly rounds: number;
  readonly ways: readonly Way[];
  /** How long a frozen primary is silent. ms */
  readonly frozenMs: number;
  /** How soon all must be well after a promotion. ms */
  readonly goodMs: number;
}

/** How long after the loss somebody promotes a standby. ms */
const PROMOTED_AFTER_MS = 2_000;
const CALM_MS = 3_000;
const BEHIND_MS = 1_500;

/** Takes the primary away. @returns what brings it back as a standby, once another one has taken over */
const lose = async (standbys: Standbys, way: Way, frozenMs: number): Promise<() => Promise<void>> => {
  const { primary } = standbys;
  if (way === 'behind') {
    await standbys.cutOff();
    await sleep(BEHIND_MS);
    await standbys.kill(primary);
  } else if (way === 'killed') await standbys.kill(primary);
  else if (way === 'switched') await standbys.stop(primary);
  else standbys.signal(primary, 'SIGSTOP');
  const lostAt = Date.now();
  return async () => {
    if (way === 'frozen') {
      await sleep(Math.max(0, lostAt + frozenMs - Date.now()));
      // It takes itself for the primary still, and nobody may write to it.
      standbys.signal(primary, 'SIGCONT');
      await sleep(CALM_MS);
      await standbys.kill(primary);
    }
    await standbys.copy(primary);
    await standbys.requireStandby();
  };
};

const failOver = async (
  scene: Scene,
  { rounds, ways, frozenMs, goodMs }: FailoverDose,
  followsPrimary = true,
): Promise<Outcome> => {
  const isSynchronous = !ways.includes('behind');
  const standbys = await Standbys.start(scene, findPrograms()!, { isSynchronous });
  const env = { DATABASE_URL: followsPrimary ? standbys.url : standbys.urlOf(standbys.primary) };
  const opened = await open(scene, env, { logEnv: { DATABASE_URL: standbys.url } });
  const { service, log, keys } = opened;
  const history = new History(scene);
  const sender = new Sender(() => service.url, keys.ingest, history, 2);
  // Not among what may be lost: without them the answers of brands cannot be compared.
  await sender.deliver(inBatches(brandsAndFlags(), 50));
  const stop = sender.keepDelivering(inBatches(upstream(scene.random), 50));
  const prober = new Prober(probes(() => service.url, keys, 100));
  const findings: string[] = [];
  const good: Record<Way, number[]> = { killed: [], frozen: [], switched: [], behind: [] };
  /** What had been acknowledged when each round was over. */
  const upTo: [Way, number][] = [];
  for (let round = 0; round < rounds * ways.length && findings.length === 0; round += 1) {
    const way = ways[round % ways.length]!;
    scene.tell(`round ${round + 1}: ${way}, ${history.acknowledged.length} acknowledged`);
    await sleep(1_000);
    const bringBack = await lose(standbys, way, frozenMs);
    await sleep(PROMOTED_AFTER_MS);
    await standbys.promote();
    const promotedAt = Date.now();
    const lastBad = (): number => goodAfter(prober.results, promotedAt);
    while (Date.now() - promotedAt < Math.max(goodMs, lastBad() + CALM_MS) && lastBad() <= goodMs) await sleep(100);
    if (lastBad() > goodMs) findings.push(`Not good ${lastBad()} ms after the promotion (${way})`);
    good[way].push(lastBad());
    upTo.push([way, history.acknowledged.length]);
    findings.push(...died(service.processes));
    if (findings.length === 0) await bringBack();
  }
  const probed = await prober.stop();
  const odd = probed.filter(({ status }) => status !== 200 && status !== 503);
  if (odd.length > 0) findings.push(`${odd.length} of ${probed.length} got neither 200 nor 503: ${shown(odd[0]!)}`);
  if (!probed.some(({ status }) => status === 503)) findings.push('Nothing was answered with 503');
  let lost = 0;
  const lostBy: Record<Way, number[]> = { killed: [], frozen: [], switched: [], behind: [] };
  if (findings.length === 0) {
    await stop();
    const ids = new Set((await wholeLog(log)).map(({ id }) => id));
    const isLost = (event: Sent): boolean => !ids.has(eventId(event));
    const kept = isSynchronous ? history.acknowledged : history.acknowledged.filter((event) => !isLost(event));
    lost = history.acknowledged.length - kept.length;
    if (!isSynchronous && lost === 0) findings.push('Nothing was lost, so nothing was tried');
    for (const [round, [way, end]] of upTo.entries()) {
      const gone = history.acknowledged.slice(upTo[round - 1]?.[1] ?? 0, end).filter(isLost).length;
      if (way === 'switched' && gone > 0) findings.push(`${gone} acknowledged events were lost in order`);
      lostBy[way].push(gone);
    }
    findings.push(...history.wrong, ...(await checkAll(scene, opened, kept)));
  }
  const bad = probed.filter(({ status }) => status === 503).length;
  const byWay = (of: (way: Way) => readonly (number | string)[]): string =>
    ways.map((way) => `${way} ${of(way).join(' ')}`).join(', ');
  const seconds = byWay((way) => good[way].map((ms) => (ms / 1000).toFixed(1)));
  return {
    dose: `${rounds} × ${ways.join(', ')}; ${history.acknowledged.length} acknowledged`,
    seen:
      `${lost} lost${isSynchronous ? '' : ` (${byWay((way) => lostBy[way])})`}, 0 doubled, recount 0, no process ` +
      `started again; ${bad} of ${probed.length} probes 503; seconds from the promotion to good: ${seconds}`,
    findings,
  };
};

const unfit = needs(findPrograms() !== undefined, POSTGRES_PROGRAMS);

export const failover: Scenario<FailoverDose> = {
  name: 'F25',
  what: 'the primary of three synchronous PostgreSQL servers is killed, frozen, or switched over in order',
  full: { rounds: 5, ways: WAYS, frozenMs: 30_000, goodMs: 5_000 },
  unfit,
  run: (scene, dose) => failOver(scene, dose),
  guard: 'an address in DATABASE_URL that follows the primary',
  counterTest: { rounds: 1, ways: ['killed'] },
  without: (scene, dose) => failOver(scene, dose, false),
};

export const asynchronousFailover: Scenario<FailoverDose> = {
  name: 'F25a',
  what: 'the same with asynchronous standbys, also while these are behind',
  full: { rounds: 5, ways: ['behind', ...WAYS], frozenMs: 30_000, goodMs: 5_000 },
  unfit,
  run: (scene, dose) => failOver(scene, dose),
  guard: 'an address in DATABASE_URL that follows the primary',
  counterTest: { rounds: 1, ways: ['behind'] },
  without: (scene, dose) => failOver(scene, dose, false),
};
