import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { PGBOUNCER, PGBOUNCER_PACKAGE, type PgBouncer, startPgBouncer, USABLE } from '../../test/support/pgbouncer.js';
import type { TestDatabase } from '../../test/support/postgres.js';
import { queryOnce } from '../../test/support/query-once.js';
import type { Outcome, Scenario } from '../scenario.js';
import { checkAll } from '../rig/check.js';
import { waitUntilKeysKnown } from '../rig/keys.js';
import { fullLoad, History, inBatches, Sender } from '../rig/load.js';
import { requireProgram } from '../rig/require-program.js';
import { startService } from '../rig/running-service.js';
import {
  endedProcesses,
  recoveryTimeMs,
  checkOutage,
  startNaiveApi,
  probes,
  type RecoveryScale,
  waitForRecovery,
} from '../rig/outage.js';
import { between, Prober } from '../rig/probe.js';
import type { RunContext } from '../rig/run-context.js';
import { Service } from '../rig/service.js';

const WAYS = ['killed', 'stopped', 'paused', 'reloaded', 'cut off'] as const;
type Way = (typeof WAYS)[number];

interface PoolerScale extends RecoveryScale {
  /** Rounds per way. */
  readonly rounds: number;
  readonly ways: readonly Way[];
  /** The duration of an outage in ms, except for `reloaded` and `cut off`. */
  readonly outageMs: number;
  readonly maxResponseMs: number;
}

const COMMAND_TIMEOUT_MS = 60_000;
const SETTINGS = [...USABLE, 'max_client_conn = 500', 'admin_users = postgres'];

/** A PgBouncer in front of a database. */
class Pooler {
  private constructor(
    private readonly database: TestDatabase,
    private running: PgBouncer,
  ) {}

  static async start(context: RunContext, database: TestDatabase): Promise<Pooler> {
    const pooler = new Pooler(database, await startPgBouncer(database.url, SETTINGS));
    context.onEnd(() => pooler.running.stop());
    return pooler;
  }

  get url(): string {
    return this.running.url;
  }

  /** Disturbs PgBouncer, and resolves once it works again. */
  async disturb(way: Way, outageMs: number): Promise<void> {
    if (way === 'paused') {
      // A paused PgBouncer accepts connections and statements, but does not respond.
      await this.command('pause');
      await sleep(outageMs);
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
      const ended = once(this.running.process, 'exit');
      if (way === 'killed') this.running.process.kill('SIGKILL');
      // Unlike SIGINT to PgBouncer 1.18, the command does not wait for sessions. It ends its own connection too.
      else await this.command('shutdown').catch(() => {});
      await ended;
      // Deletes its files.
      await this.running.stop();
      await sleep(outageMs);
      const listenPort = Number(new URL(this.url).port);
      this.running = await startPgBouncer(this.database.url, SETTINGS, { listenPort });
    }
  }

  /**
   * Runs a command on the admin console.
   * @throws Error after a minute: `pause` of PgBouncer 1.18 waits for all sessions of the pool mode `session`
   */
  private command(text: string): Promise<unknown> {
    return queryOnce(new URL('/pgbouncer', this.url).href, text, COMMAND_TIMEOUT_MS);
  }
}

const loseThePooler = async (
  context: RunContext,
  { rounds, ways, outageMs, maxResponseMs, maxRecoveryMs, stableMs }: PoolerScale,
  isNaive = false,
): Promise<Outcome> => {
  const database = await context.database({ migrated: false });
  const pooler = await Pooler.start(context, database);
  const env = { DATABASE_URL: pooler.url, DATABASE_DIRECT_URL: database.url };
  const opened = isNaive ? undefined : await startService(context, env);
  const secondApi = opened && (await Service.start(context, { env, projectors: 0 }));
  const services = opened && secondApi ? [opened.service, secondApi] : [];
  const apis = isNaive ? [await startNaiveApi(context, env)] : services.map(({ api }) => api);
  const processes = isNaive ? apis : services.flatMap((service) => service.processes);
  let turn = 0;
  const url = (): string => apis[(turn += 1) % apis.length]!.url!;
  if (opened && secondApi) await waitUntilKeysKnown(secondApi.url, opened.keys);
  const history = new History(context);
  const sender = opened && new Sender(url, opened.keys.ingest, history, 4);
  const stop = sender?.keepDelivering(inBatches(fullLoad(context.random), 50));
  const prober = new Prober(probes(url, opened?.keys, 40));
  const findings: string[] = [];
  const resultOfWay = new Map(ways.map((way) => [way, { unavailable: 0, goodAfterMs: 0 }]));
  for (let round = 0; round < rounds * ways.length && findings.length === 0; round += 1) {
    const way = ways[round % ways.length]!;
    context.reportProgress(`round ${round + 1}: ${way}, ${history.acknowledged.length} acknowledged`);
    await sleep(1_000);
    const begunAt = Date.now();
    await pooler.disturb(way, outageMs);
    const backAt = Date.now();
    await waitForRecovery(prober, backAt, { maxRecoveryMs, stableMs });
    findings.push(...endedProcesses(processes));
    const after = recoveryTimeMs(prober.results, backAt);
    if (after > maxRecoveryMs) findings.push(`A request still failed ${after} ms after PgBouncer was ${way}`);
    const result = resultOfWay.get(way)!;
    result.goodAfterMs = Math.max(result.goodAfterMs, after);
    result.unavailable += between(prober.results, begunAt, Infinity).filter(({ status }) => status === 503).length;
  }
  const probed = await prober.stop();
  findings.push(...checkOutage(probed, maxResponseMs, maxResponseMs));
  await stop?.();
  const unanswered = history.attempts.filter(({ status }) => status === 0);
  if (unanswered.length > 0)
    findings.push(`${unanswered.length} requests of the load got no response: ${unanswered[0]!.error}`);
  if (opened && findings.length === 0)
    findings.push(...history.wrong, ...(await checkAll(context, opened, history.acknowledged)));
  const slowest = Math.max(...probed.map(({ ms }) => ms)) / 1000;
  return {
    workload: `${rounds} × ${ways.join(', ')}, away for ${outageMs / 1000} s; ${history.acknowledged.length} acknowledged`,
    observed:
      `none lost or stored twice, recount without differences, no process restarted; ${probed.length} requests, the slowest response after ` +
      `${slowest.toFixed(1)} s; 503s and the longest recovery: ` +
      [...resultOfWay].map(([way, result]) => `${way} ${result.unavailable}, ${result.goodAfterMs} ms`).join(', '),
    findings,
  };
};

export const poolerUnavailable: Scenario<PoolerScale> = {
  name: 'F27',
  what: 'PgBouncer is killed, stopped, paused or reloaded, or its server connections are closed',
  full: { rounds: 5, ways: WAYS, outageMs: 6_000, maxResponseMs: 5_000, maxRecoveryMs: 5_000, stableMs: 3_000 },
  skipReason: requireProgram(PGBOUNCER !== undefined, PGBOUNCER_PACKAGE),
  run: (context, scale) => loseThePooler(context, scale),
  guard: 'a listener for broken connections, and a 503 if one breaks',
  withoutGuard: (context, scale) => loseThePooler(context, scale, true),
};
