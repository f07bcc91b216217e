import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { serverOwner } from '../../src/postgres/embedded/cluster-layout.js';
import { eventually } from '../../test/support/eventually.js';
import { TcpProxy } from '../../test/support/tcp-proxy.js';
import { freePort } from '../../test/support/free-port.js';
import { queryOnce } from '../../test/support/query-once.js';
import type { RunContext } from './run-context.js';

const run = promisify(execFile);
/** Each commit waits for any one standby. */
const QUORUM = 'ANY 1 (*)';

/** One of several replicating PostgreSQL servers. */
interface Server {
  readonly port: number;
  readonly folder: string;
  process?: ChildProcess;
}

interface StandbysOptions {
  /** Whether each commit waits for a standby. */
  readonly isSynchronous: boolean;
  /** The number of standbys. Default: 2. */
  readonly count?: number;
  /** Settings of all servers: `name=value`. */
  readonly settings?: readonly string[];
}

const isRunning = (child: ChildProcess): boolean => child.exitCode === null && child.signalCode === null;

/** A primary and its standbys, with the actions of an operator. */
export class Standbys {
  readonly servers: readonly Server[];
  primary: Server;

  private constructor(
    private readonly programs: string,
    private readonly options: StandbysOptions,
    servers: readonly Server[],
    private readonly proxy: TcpProxy,
  ) {
    this.servers = servers;
    this.primary = servers[0]!;
  }

  /** @param programs the folder of `initdb` and `pg_basebackup` */
  static async start(context: RunContext, programs: string, options: StandbysOptions): Promise<Standbys> {
    const { count = 2 } = options;
    const folder = await context.folder();
    const servers: Server[] = [];
    for (let n = 0; n <= count; n += 1) servers.push({ port: await freePort(), folder: join(folder, `server-${n}`) });
    const proxy = new TcpProxy({ host: '127.0.0.1', port: servers[0]!.port });
    await proxy.open();
    const standbys = new Standbys(programs, options, servers, proxy);
    context.onEnd(async () => {
      await proxy.close();
      for (const server of servers) await standbys.kill(server);
    });
    const { primary } = standbys;
    await standbys.makeFolder(primary);
    await standbys.runProgram(
      'initdb',
      '-D',
      primary.folder,
      '-U',
      'postgres',
      '-A',
      'trust',
      '-E',
      'UTF8',
      '--no-sync',
    );
    await standbys.launch(primary);
    for (const server of servers.slice(1)) await standbys.copy(server);
    await standbys.requireSynchronousCommits();
    return standbys;
  }

  /** The URL for the service. It leads to the current primary. */
  get url(): string {
    return `postgres://postgres@${this.proxy.address}/postgres`;
  }

  urlOf(server: Server): string {
    return `postgres://postgres@127.0.0.1:${server.port}/postgres`;
  }

  /** Kills all processes of the server with SIGKILL. */
  async kill(server: Server): Promise<void> {
    const { process: child } = server;
    if (child === undefined) return;
    if (isRunning(child)) {
      const ended = once(child, 'exit');
      this.signal(server, 'SIGKILL');
      await ended;
    }
    server.process = undefined;
  }

  /** Sends a signal to all processes of the server. */
  signal(server: Server, signal: NodeJS.Signals): void {
    const pid = server.process!.pid!;
    const children = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
      .split('\n')
      .map((line) => line.trim().split(/\s+/).map(Number))
      .flatMap(([child, parent]) => (parent === pid ? [child!] : []));
    for (const each of [pid, ...children])
      try {
        process.kill(each, signal);
      } catch {
        // The process has ended meanwhile.
      }
  }

  /** Stops the server with SIGINT (fast shutdown), which sends all remaining changes to the standbys. */
  async stop(server: Server): Promise<void> {
    const ended = once(server.process!, 'exit');
    server.process!.kill('SIGINT');
    await ended;
    server.process = undefined;
  }

  /**
   * Promotes the most advanced standby, and makes the other standby follow the new primary.
   * @returns the former primary
   */
  async promote(): Promise<Server> {
    const before = this.primary;
    const others = this.servers.filter((server) => server !== before);
    const received = await Promise.all(
      others.map(async (server) => {
        const text = `select (pg_last_wal_receive_lsn() - '0/0')::bigint as lsn`;
        return BigInt((await this.query<{ lsn: string }>(server, text))[0]!.lsn);
      }),
    );
    const [first, second] = others as [Server, Server];
    const [next, other] = received[0]! >= received[1]! ? [first, second] : [second, first];
    this.primary = next;
    await this.query(next, 'select pg_promote()');
    this.proxy.redirectTo({ host: '127.0.0.1', port: next.port });
    await this.follow(other);
    return before;
  }

  /** Makes a server a standby of the primary again, with `pg_basebackup`. */
  async copy(server: Server): Promise<void> {
    await rm(server.folder, { recursive: true, force: true });
    await this.makeFolder(server);
    const from = ['-h', '127.0.0.1', '-p', String(this.primary.port), '-U', 'postgres'];
    await this.runProgram(
      'pg_basebackup',
      '-D',
      server.folder,
      ...from,
      '-R',
      '-X',
      'stream',
      '-c',
      'fast',
      '--no-sync',
    );
    await this.launch(server);
  }

  /** Makes each commit wait for a standby, unless the replication is asynchronous. Waits until all standbys stream. */
  async requireSynchronousCommits(): Promise<void> {
    if (!this.options.isSynchronous) return;
    await this.query(this.primary, `alter system set synchronous_standby_names = '${QUORUM}'`);
    await this.query(this.primary, 'select pg_reload_conf()');
    await eventually(
      'all standbys stream',
      async () =>
        (await this.query(this.primary, 'select 1 from pg_stat_replication')).length === this.servers.length - 1,
    );
  }

  query<Row extends object>(server: Server, text: string): Promise<Row[]> {
    return queryOnce<Row>(`${this.urlOf(server)}?query_timeout=60000`, text);
  }

  /** Stops the replication to all standbys. */
  async stopReplication(): Promise<void> {
    for (const server of this.servers) if (server !== this.primary) await this.follow(server, '');
  }

  private async follow(server: Server, info = `host=127.0.0.1 port=${this.primary.port} user=postgres`): Promise<void> {
    await this.query(server, `alter system set primary_conninfo = '${info}'`);
    await this.query(server, 'select pg_reload_conf()');
  }

  private async makeFolder({ folder }: Server): Promise<void> {
    await mkdir(folder, { mode: 0o700 });
    const owner = serverOwner(folder);
    if (owner) await chown(folder, owner.uid, owner.gid);
  }

  private async runProgram(name: string, ...words: string[]): Promise<void> {
    await run(join(this.programs, name), words, { ...serverOwner(this.servers[0]!.folder), cwd: '/' });
  }

  /** Starts a server with its existing files. @throws Error if it ends, or does not accept connections in time */
  async launch(server: Server): Promise<void> {
    const settings = [
      `port=${server.port}`,
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      'max_connections=120',
      'wal_keep_size=512MB',
      // All servers share one small machine.
      'shared_buffers=64MB',
      ...(this.options.settings ?? []),
      // A standby ignores this setting until it is promoted.
      ...(this.options.isSynchronous && server !== this.primary ? [`synchronous_standby_names=${QUORUM}`] : []),
    ];
    const child = spawn(
      join(this.programs, 'postgres'),
      ['-D', server.folder, ...settings.flatMap((setting) => ['-c', setting])],
      { ...serverOwner(server.folder), cwd: '/', stdio: 'ignore' },
    );
    server.process = child;
    await eventually('the server answers', async () => {
      if (!isRunning(child)) throw new Error(`The server at ${server.port} ended with ${child.exitCode}`);
      return this.query(server, 'select 1').then(
        () => true,
        () => false,
      );
    });
  }
}
