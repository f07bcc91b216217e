import { setTimeout as sleep } from 'node:timers/promises';
import { eventually, eventuallyPasses } from '../../test/support/eventually.js';
import { findPrograms } from '../../test/support/postgres-programs.js';
import { ask } from './ask.js';
import { type Keys, keysKnown } from './keys.js';
import { open } from './opened.js';
import { metricsPath, type Readers } from './readers.js';
import { Reports } from './reports.js';
import type { Scene } from './scene.js';
import { Service, type ServiceOptions } from './service.js';
import { Standbys } from './standbys.js';

/** What may become of a standby that answers reads. */
export const WAYS = ['paused', 'lagging', 'cancelling', 'gone'] as const;
export type Way = (typeof WAYS)[number];

const CANCEL_EVERY_MS = 50;
/** Requests under way at once. */
const CONNECTIONS = 12;
/** Whose statements are counted. */
const READER = 'reader';
const READS = `select coalesce(sum(calls), 0)::int as n from pg_stat_statements s join pg_roles r on r.oid = s.userid
  where r.rolname = '${READER}' and s.query ~ 'read"?."?(facts|days|type_days|listed_records)'`;
const CONFLICTS = `select coalesce(sum(confl_lock + confl_snapshot + confl_bufferpin + confl_deadlock), 0)::int as n
  from pg_stat_database_conflicts`;
const CANCEL = ['pg_cancel_backend', 'pg_terminate_backend'].map(
  (end) => `select count(${end}(pid))::int as n from pg_stat_activity where usename = '${READER}' and state = 'active'`,
);

/** A primary with one standby, which two API processes read from, and a third one that does not. */
export class Replicated {
  /** Statements that its recovery cancelled, and that were cancelled by hand. */
  conflicts = 0;
  cancelled = 0;

  private constructor(
    readonly standbys: Standbys,
    readonly reports: Reports,
    /** Reads from the primary. */
    readonly plain: Service,
    readonly withReplica: readonly Service[],
    readonly keys: Keys,
  ) {}

  /**
   * @param maxLag `READ_MAX_LAG_SECONDS`, seconds
   * @param organizations those that have a key; default as `issueKeys`
   * @param changed settings of the two processes, and a file that is loaded into them before they begin
   */
  static async start(
    scene: Scene,
    maxLag: number,
    organizations?: readonly string[],
    changed: Pick<ServiceOptions, 'env' | 'preload'> = { env: {} },
  ): Promise<Replicated> {
    const settings = ['shared_preload_libraries=pg_stat_statements'];
    const standbys = await Standbys.start(scene, findPrograms()!, { isSynchronous: false, count: 1, settings });
    const [primary, standby] = standbys.servers.map((server) => standbys.urlOf(server)) as [string, string];
    const ask = (text: string): Promise<object[]> => standbys.ask(standbys.primary, text);
    await ask('create extension pg_stat_statements');
    await ask(`create role ${READER} login superuser`);
    const as = (url: string): string => url.replace('postgres@', `${READER}@`);
    const { service: plain, keys } = await open(scene, { DATABASE_URL: primary }, { organizations });
    const env = {
      DATABASE_URL: as(primary),
      DATABASE_READ_URL: as(standby),
      READ_MAX_LAG_SECONDS: String(maxLag),
      ...changed.env,
    };
    const { preload } = changed;
    const withReplica = await Promise.all([1, 2].map(() => Service.start(scene, { env, preload, projectors: 0 })));
    for (const { url } of withReplica) await keysKnown(url, keys);
    const reports = new Reports(() => plain.url, keys.ingest);
    return new Replicated(standbys, reports, plain, withReplica, keys);
  }

  /** Reads acme's. */
  get key(): string {
    return this.keys.read['acme']!;
  }

  /** @returns how many reads of the two processes the primary has answered */
  async readsOfPrimary(): Promise<number> {
    return this.number(READS, false);
  }

  async readsOfReplica(): Promise<number> {
    return this.number(READS, true);
  }

  /** Waits until the replica alone answers. @returns how many reads it was seen to, while the primary answered none */
  async usesReplica(readers: Readers): Promise<number> {
    let answered = 0;
    await eventually(
      'the replica alone answers',
      async () => {
        const before = [await this.readsOfPrimary(), await this.readsOfReplica()];
        const { count } = readers;
        await eventually('further answers', () => readers.count > count + 50);
        answered = (await this.readsOfReplica()) - before[1]!;
        return (await this.readsOfPrimary()) === before[0] && answered > 0;
      },
      60_000,
    );
    return answered;
  }

  /** Does it to the replica for so long. */
  async disturb(way: Way, lastsMs: number): Promise<void> {
    const { standbys } = this;
    const standby = standbys.servers[1]!;
    const tell = (text: string): Promise<object[]> => standbys.ask(standby, text);
    if (way === 'paused') {
      standbys.signal(standby, 'SIGSTOP');
      await sleep(lastsMs);
      standbys.signal(standby, 'SIGCONT');
    } else if (way === 'lagging') {
      await tell('select pg_wal_replay_pause()');
      await sleep(lastsMs);
      await tell('select pg_wal_replay_resume()');
    } else if (way === 'gone') {
      await standbys.kill(standby);
      await sleep(lastsMs);
      await standbys.launch(standby);
    } else await this.cancel(lastsMs);
  }

  /** @returns how many metrics requests a second these processes answer, and how many of all of them the primary did */
  async perSecond(urls: readonly string[], ms: number): Promise<{ rate: number; ofPrimary: number }> {
    const before = await this.readsOfPrimary();
    const until = Date.now() + ms;
    let answered = 0;
    const keepAsking = async (connection: number): Promise<void> => {
      for (let n = connection; Date.now() < until; n += CONNECTIONS) {
        const url = `${urls[connection % urls.length]!}/v2/organization/${metricsPath(n)}`;
        if ((await ask(url, { key: this.key })).status === 200) answered += 1;
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, (_, n) => keepAsking(n)));
    return { rate: Math.round((answered * 1_000) / ms), ofPrimary: (await this.readsOfPrimary()) - before };
  }

  private async cancel(lastsMs: number): Promise<void> {
    const { standbys } = this;
    const standby = standbys.servers[1]!;
    const setDelay = async (to: string): Promise<void> => {
      await standbys.ask(standby, `alter system ${to}`);
      // The recovery of the replica may cancel this too.
      await eventuallyPasses(async () => void (await standbys.ask(standby, 'select pg_reload_conf()')));
    };
    await setDelay('set max_standby_streaming_delay = 0');
    const before = await this.number(CONFLICTS, true);
    const until = Date.now() + lastsMs;
    for (let n = 0; Date.now() < until; n += 1) {
      await standbys.ask(standbys.primary, 'vacuum read.facts, read.days, read.checkpoints');
      this.cancelled += await this.number(CANCEL[n % CANCEL.length]!, true);
      await sleep(CANCEL_EVERY_MS);
    }
    this.conflicts += (await this.number(CONFLICTS, true)) - before;
    await setDelay('reset max_standby_streaming_delay');
  }

  private async number(text: string, isOfReplica: boolean): Promise<number> {
    const { servers } = this.standbys;
    let n = 0;
    // The recovery of the replica may cancel this too.
    await eventuallyPasses(async () => {
      n = (await this.standbys.ask<{ n: number }>(servers[isOfReplica ? 1 : 0]!, text))[0]!.n;
    });
    return n;
  }
}
