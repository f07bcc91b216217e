import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { serverOwner } from '../../src/postgres/embedded/os-user.js';
import { eventuallyPasses } from './eventually.js';
import { freePort } from './free-port.js';

/** Whether PgBouncer is installed; Debian puts it where ordinary users do not look. */
export const PGBOUNCER = ['pgbouncer', '/usr/sbin/pgbouncer'].find((program) => {
  try {
    return execFileSync(program, ['--version'], { stdio: ['ignore', 'pipe', 'ignore'] }).length > 0;
  } catch {
    return false;
  }
});

export interface PgBouncer {
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * Starts PgBouncer on loopback before a database.
 * @param settings lines of its section `pgbouncer`
 */
export const startPgBouncer = async (database: string, settings: readonly string[]): Promise<PgBouncer> => {
  const { hostname, port, username, password, pathname } = new URL(database);
  const folder = mkdtempSync(join(tmpdir(), 'pgbouncer-'));
  const listenPort = await freePort();
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
      `listen_port = ${listenPort}`,
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
    if (process.exitCode === null && process.kill('SIGKILL')) await once(process, 'exit');
    rmSync(folder, { recursive: true, force: true });
  };
  const url = new URL(database);
  url.port = String(listenPort);
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
  return { url: url.href, stop };
};
