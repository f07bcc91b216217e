import { setTimeout as sleep } from 'node:timers/promises';
import { eventually, eventuallyPasses } from '../../test/support/eventually.js';
import { findPrograms } from '../../test/support/postgres-programs.js';
import { sendRequest } from './http-request.js';
import { type Keys, waitUntilKeysKnown } from './keys.js';
import { startService } from './running-service.js';
import { metricsPath, type Readers } from './readers.js';
import { Reports } from './reports.js';
import type { RunContext } from './run-context.js';
import { Service, type ServiceOptions } from './service.js';
import { Standbys } from './standbys.js';

/** The ways in which a replica is disturbed. */
export const DISTURBANCES = ['paused', 'lagging', 'cancelling', 'gone'] as const;
export type Disturbance = (typeof DISTURBANCES)[number];

const CANCEL_EVERY_MS = 50;
/** The number of concurrent requests. */
const CONNECTIONS = 12;
/** The role of the processes that read from the replica. The servers count statements by role. */
const READER = 'reader';
const READS = `select coalesce(sum(calls), 0)::int as n from pg_stat_statements s join pg_roles r on r.oid = s.userid
  where r.rolname = '${READER}' and s.query ~ 'read"?."?(facts|days|type_days|register)'`;
const CONFLICTS = `select coalesce(sum(confl_lock + confl_snapshot + confl_bufferpin + confl_deadlock), 0)::int as n
  from pg_stat_database_conflicts`;
const CANCEL = ['pg_cancel_backend', 'pg_terminate_backend'].map(
  (end) => `select count(${end}(pid))::int as n from pg_stat_activity where usename = '${READER}' and state = 'active'`,
);

/** A primary and one replica: two API processes read from the replica, a third one only from the primary. */
export class Replicated {
  /** The number of statements that a recovery conflict cancelled. */
  conflicts = 0;
  /** The number of statements that this class cancelled. */
  cancelled = 0;

  private constructor(
    readonly standbys: Standbys,
    readonly reports: Reports,
    /** The API process that reads only from the primary. */
    readonly primaryOnly: Service,
    readonly withReplica: readonly Service[],
    readonly keys: Keys,
  ) {}

  /**
   * @param maxLag the value of `READ_MAX_LAG_SECONDS`
   * @param organizations organizations that get a key. Default: those of `issueKeys`
   * @param overrides settings of the two processes with a replica, and a module that they load before their program
   */
  static async start(
    context: RunContext,
    maxLag: number,
    organizations?: readonly string[],
    overrides: Pick<ServiceOptions, 'env' | 'preload'> = { env: {} },
  ): Promise<Replicated> {
    const settings = ['shared_preload_libraries=pg_stat_statements'];
    const standbys = await Standbys.start(context, findPrograms()!, { isSynchronous: false, count: 1, settings });
    const [primary, standby] = standbys.servers.map((server) => standbys.urlOf(server)) as [string, string];
    const query = (text: string): Promise<object[]> => standbys.query(standbys.primary, text);
    await query('create extension pg_stat_statements');
    await query(`create role ${READER} login superuser`);
    const as = (url: string): string => url.replace('postgres@', `${READER}@`);
    const { service: primaryOnly, keys } = await startService(context, { DATABASE_URL: primary }, { organizations });
    const env = {
      DATABASE_URL: as(primary),
      DATABASE_READ_URL: as(standby),
      READ_MAX_LAG_SECONDS: String(maxLag),
      ...overrides.env,
    };
    const { preload } = overrides;
    const withReplica = await Promise.all([1, 2].map(() => Service.start(context, { env, preload, projectors: 0 })));
    for (const { url } of withReplica) await waitUntilKeysKnown(url, keys);
    const reports = new Reports(() => primaryOnly.url, keys.ingest);
    return new Replicated(standbys, reports, primaryOnly, withReplica, keys);
  }

  /** The key of the organization acme. */
  get key(): string {
    return this.keys.read['acme']!;
  }

  /** Returns how many reads of the two processes with a replica the primary has served. */
  async readsOfPrimary(): Promise<number> {
    return this.number(READS, false);
  }

  async readsOfReplica(): Promise<number> {
    return this.number(READS, true);
  }

  /** Waits until only the replica serves reads. @returns how many reads the replica served while this method waited */
  async waitUntilReplicaServes(readers: Readers): Promise<number> {
    let served = 0;
    await eventually(
      'only the replica serves reads',
      async () => {
        const before = [await this.readsOfPrimary(), await this.readsOfReplica()];
        const { count } = readers;
        await eventually('50 more responses arrive', () => readers.count > count + 50);
        served = (await this.readsOfReplica()) - before[1]!;
        return (await this.readsOfPrimary()) === before[0] && served > 0;
      },
      60_000,
    );
    return served;
  }

  /** Disturbs the replica for `lastsMs`. */
  async disturb(disturbance: Disturbance, lastsMs: number): Promise<void> {
    const { standbys } = this;
    const standby = standbys.servers[1]!;
    const execute = (text: string): Promise<object[]> => standbys.query(standby, text);
    if (disturbance === 'paused') {
      standbys.signal(standby, 'SIGSTOP');
      await sleep(lastsMs);
      standbys.signal(standby, 'SIGCONT');
    } else if (disturbance === 'lagging') {
      await execute('select pg_wal_replay_pause()');
      await sleep(lastsMs);
      await execute('select pg_wal_replay_resume()');
    } else if (disturbance === 'gone') {
      await standbys.kill(standby);
      await sleep(lastsMs);
      await standbys.launch(standby);
    } else await this.cancel(lastsMs);
  }

  /**
   * Measures the metrics requests per second of these processes. @returns the rate, and how many reads the primary
   * served
   */
  async perSecond(urls: readonly string[], ms: number): Promise<{ rate: number; ofPrimary: number }> {
    const before = await this.readsOfPrimary();
    const until = Date.now() + ms;
    let responses = 0;
    const keepAsking = async (connection: number): Promise<void> => {
      for (let n = connection; Date.now() < until; n += CONNECTIONS) {
        const url = `${urls[connection % urls.length]!}/v2/organization/${metricsPath(n)}`;
        if ((await sendRequest(url, { key: this.key })).status === 200) responses += 1;
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, (_, n) => keepAsking(n)));
    return { rate: Math.round((responses * 1_000) / ms), ofPrimary: (await this.readsOfPrimary()) - before };
  }

  private async cancel(lastsMs: number): Promise<void> {
    const { standbys } = this;
    const standby = standbys.servers[1]!;
    const setDelay = async (to: string): Promise<void> => {
      await standbys.query(standby, `alter system ${to}`);
      // A recovery conflict may cancel this statement too.
      await eventuallyPasses(async () => void (await standbys.query(standby, 'select pg_reload_conf()')));
    };
    await setDelay('set max_standby_streaming_delay = 0');
    const before = await this.number(CONFLICTS, true);
    const until = Date.now() + lastsMs;
    for (let n = 0; Date.now() < until; n += 1) {
      await standbys.query(standbys.primary, 'vacuum read.facts, read.days, read.checkpoints');
      this.cancelled += await this.number(CANCEL[n % CANCEL.length]!, true);
      await sleep(CANCEL_EVERY_MS);
    }
    this.conflicts += (await this.number(CONFLICTS, true)) - before;
    await setDelay('reset max_standby_streaming_delay');
  }

  private async number(text: string, isOfReplica: boolean): Promise<number> {
    const { servers } = this.standbys;
    let n = 0;
    // A recovery conflict may cancel this statement too.
    await eventuallyPasses(async () => {
      n = (await this.standbys.query<{ n: number }>(servers[isOfReplica ? 1 : 0]!, text))[0]!.n;
    });
    return n;
  }
}
