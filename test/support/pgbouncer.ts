import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { serverOwner } from '../../src/postgres/embedded/os-user.js';
import { eventuallyPasses } from './eventually.js';
import { freePort } from './free-port.js';

const versionOf = (program: string): string | undefined => {
  try {
    return /PgBouncer (\d+\.\d+)/.exec(execFileSync(program, ['--version'], { encoding: 'utf8', stdio: 'pipe' }))?.[1];
  } catch {
    return undefined;
  }
};

/** How to get it, for those who miss it. */
export const PGBOUNCER_PACKAGE = 'pgbouncer (apt-get install pgbouncer)';

/** The program, if it is installed; Debian puts it where ordinary users do not look. */
export const PGBOUNCER = [process.env['TEST_PGBOUNCER'], 'pgbouncer', '/usr/sbin/pgbouncer'].find(
  (program) => program !== undefined && versionOf(program) !== undefined,
);

/** Whether it keeps prepared statements when each transaction gets another connection: from 1.21 on. */
export const KEEPS_STATEMENTS = PGBOUNCER !== undefined && Number(versionOf(PGBOUNCER)!.split('.')[1]) >= 21;

/** Each transaction gets one of few connections, as clients of a real installation do. */
export const BY_TRANSACTION = [
  'pool_mode = transaction',
  'default_pool_size = 3',
  ...(KEEPS_STATEMENTS ? ['max_prepared_statements = 200'] : []),
];

/** By transaction, with prepared statements that clients lose. */
export const LOSING_STATEMENTS = [
  'pool_mode = transaction',
  ...(KEEPS_STATEMENTS ? ['max_prepared_statements = 0'] : []),
];

/** A mode that the service works with: by transaction if the installed PgBouncer can do that, or else by session. */
export const USABLE = KEEPS_STATEMENTS ? BY_TRANSACTION : ['pool_mode = session', 'default_pool_size = 80'];

export interface PgBouncer {
  readonly url: string;
  readonly process: ChildProcess;
  /** Kills it. */
  stop(): Promise<void>;
}

interface PgBouncerOptions {
  /** Where it listens; a free one unless told. */
  readonly listenPort?: number;
}

/**
 * Starts PgBouncer on loopback before a database.
 * @param settings lines of its section `pgbouncer`
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
  // It refuses to run as root.
  const owner = serverOwner(folder);
  if (owner) for (const path of [folder, file, users]) chownSync(path, owner.uid, owner.gid);
  chmodSync(users, 0o600);
  const process: ChildProcess = spawn(PGBOUNCER!, ['--quiet', file], { ...owner, cwd: '/', stdio: 'ignore' });
  const stop = async (): Promise<void> => {
    // Asked politely, it would wait for its clients.
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
