import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { serverOwner } from '../../src/postgres/embedded/cluster-layout.js';
import { eventuallyPasses } from './eventually.js';
import { freePort } from './free-port.js';

const versionOf = (program: string): string | undefined => {
  try {
    return /PgBouncer (\d+\.\d+)/.exec(execFileSync(program, ['--version'], { encoding: 'utf8', stdio: 'pipe' }))?.[1];
  } catch {
    return undefined;
  }
};

/** How to install PgBouncer; part of the message if it is missing. */
export const PGBOUNCER_PACKAGE = 'pgbouncer (apt-get install pgbouncer)';

/**
 * The PgBouncer program, if it is installed. Debian installs it in a folder that is not on the PATH of ordinary users.
 */
export const PGBOUNCER = [process.env['TEST_PGBOUNCER'], 'pgbouncer', '/usr/sbin/pgbouncer'].find(
  (program) => program !== undefined && versionOf(program) !== undefined,
);

/**
 * Whether the installed PgBouncer supports prepared statements with `pool_mode = transaction` (version 1.21 or later).
 */
export const KEEPS_STATEMENTS = PGBOUNCER !== undefined && Number(versionOf(PGBOUNCER)!.split('.')[1]) >= 21;

/** Transaction pooling with few connections. */
export const BY_TRANSACTION = [
  'pool_mode = transaction',
  'default_pool_size = 3',
  ...(KEEPS_STATEMENTS ? ['max_prepared_statements = 200'] : []),
];

/** Transaction pooling without support for prepared statements. */
export const LOSING_STATEMENTS = [
  'pool_mode = transaction',
  ...(KEEPS_STATEMENTS ? ['max_prepared_statements = 0'] : []),
];

/**
 * A mode that the service supports: transaction pooling if the installed PgBouncer allows it, otherwise session
 * pooling.
 */
export const USABLE = KEEPS_STATEMENTS ? BY_TRANSACTION : ['pool_mode = session', 'default_pool_size = 80'];

export interface PgBouncer {
  readonly url: string;
  readonly process: ChildProcess;
  /** Kills PgBouncer and deletes its files. */
  stop(): Promise<void>;
}

interface PgBouncerOptions {
  /** Default: a free port. */
  readonly listenPort?: number;
}

/**
 * Starts PgBouncer on loopback in front of a database.
 * @param settings lines of the section `pgbouncer` of its configuration
 */
export const startPgBouncer = async (
  database: string,
  settings: readonly string[],
  { listenPort }: PgBouncerOptions = {},
): Promise<PgBouncer> => {
  const { hostname, port, username, password, pathname } = new URL(database);
  const folder = mkdtempSync(join(tmpdir(), 'pgbouncer-'));
  const at = listenPort ?? (await freePort());
  const file = join(folder, 'pgbouncer.ini');
  const users = join(folder, 'users');
  writeFileSync(users, `"${username}" "${password}"\n`);
  writeFileSync(
    file,
    [
      '[databases]',
      `${pathname.slice(1)} = host=${hostname} port=${port}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${at}`,
      'unix_socket_dir =',
      'auth_type = plain',
      `auth_file = ${users}`,
      ...settings,
    ].join('\n'),
  );
  // PgBouncer does not run as root.
  const owner = serverOwner(folder);
  if (owner) for (const path of [folder, file, users]) chownSync(path, owner.uid, owner.gid);
  chmodSync(users, 0o600);
  const process: ChildProcess = spawn(PGBOUNCER!, ['--quiet', file], { ...owner, cwd: '/', stdio: 'ignore' });
  const stop = async (): Promise<void> => {
    // After SIGINT, PgBouncer would wait for its clients.
    const isRunning = process.exitCode === null && process.signalCode === null;
    if (isRunning && process.kill('SIGKILL')) await once(process, 'exit');
    rmSync(folder, { recursive: true, force: true });
  };
  const url = new URL(database);
  url.port = String(at);
  try {
    await eventuallyPasses(async () => {
      const client = new Client({ connectionString: url.href });
      client.on('error', () => {});
      await client.connect();
      await client.end();
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: url.href, process, stop };
};
