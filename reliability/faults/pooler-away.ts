import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { PGBOUNCER, PGBOUNCER_PACKAGE, type PgBouncer, startPgBouncer, USABLE } from '../../test/support/pgbouncer.js';
import type { TestDatabase } from '../../test/support/postgres.js';
import { queryOnce } from '../../test/support/query-once.js';
import type { Outcome, Scenario } from '../scenario.js';
import { checkAll } from '../rig/check.js';
import { keysKnown } from '../rig/keys.js';
import { fullLoad, History, inBatches, Sender } from '../rig/load.js';
import { needs } from '../rig/needs.js';
import { open } from '../rig/opened.js';
import { died, goodAfter, judgeAway, naive, probes, type ReturnDose, watchReturn } from '../rig/outage.js';
import { between, Prober } from '../rig/probe.js';
import type { Scene } from '../rig/scene.js';
import { Service } from '../rig/service.js';

const WAYS = ['killed', 'stopped', 'paused', 'reloaded', 'cut off'] as const;
type Way = (typeof WAYS)[number];

interface PoolerDose extends ReturnDose {
  /** Of each way. */
  readonly rounds: number;
  readonly ways: readonly Way[];
  /** Not how long it is reloaded, or cut off. */
  readonly awayMs: number;
  readonly answerMs: number;
}

const SETTINGS = [...USABLE, 'max_client_conn = 500', 'admin_users = postgres'];

/** A PgBouncer before a database, and what happens to it. */
class Pooler {
  private constructor(
    private readonly database: TestDatabase,
    private running: PgBouncer,
  ) {}

  static async start(scene: Scene, database: TestDatabase): Promise<Pooler> {
    const pooler = new Pooler(database, await startPgBouncer(database.url, SETTINGS));
    scene.later(() => pooler.running.stop());
    return pooler;
  }

  get url(): string {
    return this.running.url;
  }

  /** Takes it away for so long. @returns once it is back */
  async suffer(way: Way, awayMs: number): Promise<void> {
    if (way === 'paused') {
      // It takes connections and what they ask for, and answers nothing.
      await this.command('pause');
      await sleep(awayMs);
      await this.command('resume');
    } else if (way === 'reloaded') {
      this.running.process.kill('SIGHUP');
      await this.command('reconnect');
    } else if (way === 'cut off') {
      await queryOnce(
        this.database.url,
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      );
    } else {
      await this.end(way === 'killed' ? 'SIGKILL' : 'SIGINT');
      await sleep(awayMs);
      const listenPort = Number(new URL(this.url).port);
      this.running = await startPgBouncer(this.database.url, SETTINGS, { listenPort });
    }
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const ended = once(this.running.process, 'exit');
    this.running.process.kill(signal);
    await ended;
    // Its files go too.
    await this.running.stop();
  }

  /** On its console, which answers as a database does. */
  private command(text: string): Promise<unknown> {
    return queryOnce(new URL('/pgbouncer', this.url).href, text);
  }
}

const loseThePooler = async (
  scene: Scene,
  { rounds, ways, awayMs, answerMs, goodMs, calmMs }: PoolerDose,
  isNaive = false,
): Promise<Outcome> => {
  const database = await scene.database({ migrated: false });
  const pooler = await Pooler.start(scene, database);
  const env = { DATABASE_URL: pooler.url, DATABASE_DIRECT_URL: database.url };
  const opened = isNaive ? undefined : await open(scene, env);
  const another = opened && (await Service.start(scene, { env, projectors: 0 }));
  const services = opened && another ? [opened.service, another] : [];
  const apis = isNaive ? [await naive(scene, env)] : services.map(({ api }) => api);
  const processes = isNaive ? apis : services.flatMap((service) => service.processes);
  let turn = 0;
  const url = (): string => apis[(turn += 1) % apis.length]!.url!;
  if (opened && another) await keysKnown(another.url, opened.keys);
  const history = new History(scene);
  const sender = opened && new Sender(url, opened.keys.ingest, history, 4);
  const stop = sender?.keepDelivering(inBatches(fullLoad(scene.random), 50));
  const prober = new Prober(probes(url, opened?.keys, 40));
  const findings: string[] = [];
  const seen = new Map(ways.map((way) => [way, { unavailable: 0, goodAfterMs: 0 }]));
  for (let round = 0; round < rounds * ways.length && findings.length === 0; round += 1) {
    const way = ways[round % ways.length]!;
    scene.tell(`round ${round + 1}: ${way}, ${history.acknowledged.length} acknowledged`);
    await sleep(1_000);
    const begunAt = Date.now();
    await pooler.suffer(way, awayMs);
    const backAt = Date.now();
    await watchReturn(prober, backAt, { goodMs, calmMs });
    findings.push(...died(processes));
    const after = goodAfter(prober.results, backAt);
    if (after > goodMs) findings.push(`Not good ${after} ms after it was ${way}`);
    const known = seen.get(way)!;
    known.goodAfterMs = Math.max(known.goodAfterMs, after);
    known.unavailable += between(prober.results, begunAt, Infinity).filter(({ status }) => status === 503).length;
  }
  const probed = await prober.stop();
  findings.push(...judgeAway(probed, answerMs, answerMs));
  await stop?.();
  const unanswered = history.attempts.filter(({ status }) => status === 0);
  if (unanswered.length > 0) findings.push(`${unanswered.length} × no answer to the load: ${unanswered[0]!.error}`);
  if (opened && findings.length === 0)
    findings.push(...history.wrong, ...(await checkAll(scene, opened, history.acknowledged)));
  const slowest = Math.max(...probed.map(({ ms }) => ms)) / 1000;
  return {
    dose: `${rounds} × ${ways.join(', ')}, away for ${awayMs / 1000} s; ${history.acknowledged.length} acknowledged`,
    seen:
      `0 lost, 0 doubled, recount 0, no process started again; ${probed.length} requests, the slowest answer after ` +
      `${slowest.toFixed(1)} s; 503 and good again at the latest: ` +
      [...seen].map(([way, of]) => `${way} ${of.unavailable} and after ${of.goodAfterMs} ms`).join(', '),
    findings,
  };
};

export const poolerAway: Scenario<PoolerDose> = {
  name: 'F27',
  what: 'PgBouncer before PostgreSQL is killed, stopped in order, paused, reloaded, its server connections are ended',
  full: { rounds: 5, ways: WAYS, awayMs: 6_000, answerMs: 5_000, goodMs: 5_000, calmMs: 3_000 },
  unfit: needs(PGBOUNCER !== undefined, PGBOUNCER_PACKAGE),
  run: (scene, dose) => loseThePooler(scene, dose),
  guard: 'a listener for broken connections, and 503 when one breaks',
  without: (scene, dose) => loseThePooler(scene, dose, true),
};
