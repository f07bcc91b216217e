import { createHash } from 'node:crypto';
import { existsSync, lstatSync } from 'node:fs';
import { chmod, mkdir, realpath } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { choosePassword, type ClusterLayout, readPlace, savePlace, changeOwner } from './cluster-layout.js';
import { SUPERUSER } from './cluster.js';

/**
 * The address at which clients reach the server. A Unix socket is faster and protected by its directory. Windows uses
 * loopback TCP.
 */
export type Transport = 'socket' | 'loopback';

/** The state of a running server, from its `postmaster.pid`. */
export interface Postmaster {
  readonly pid: number;
  readonly port: number;
  /** Empty if the server has no socket. */
  readonly socketDirectory: string;
  /** Whether the server accepts connections; false while it starts or stops. */
  readonly isReady: boolean;
}

const LOOPBACK = '127.0.0.1';
/** Part of the socket's name. The server does not listen on this port. */
const SOCKET_PORT = 5432;

/** How often the directory of the socket is created if other processes delete it. */
const MAX_ATTEMPTS = 3;

/**
 * Creates a directory that only the server's user and root can enter. The directory is not in the data directory,
 * because the path of a socket is limited to 103 bytes. The name of the directory is derived from the password, for two
 * reasons: the name is the same at every start, so the URL of running clients stays valid, and no other user can create
 * the directory beforehand. It is also derived from the path of the data directory, because a copy of the data directory
 * has the same password and may run beside the original.
 */
const socketDirectory = async (layout: ClusterLayout, attempts = MAX_ATTEMPTS): Promise<string> => {
  const { home, passwordFile, owner } = layout;
  const hash = createHash('sha256').update(`${await choosePassword(passwordFile)}\n${await realpath(home)}`);
  const name = `threat-protection-${hash.digest('hex').slice(0, 16)}`;
  const directory = join(existsSync('/tmp') ? '/tmp' : tmpdir(), name);
  const uid = owner?.uid ?? process.getuid?.();
  try {
    await mkdir(directory, { mode: 0o700 });
    await chmod(directory, 0o700);
    await changeOwner(owner, directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    // Another process may have created the directory and not yet changed its owner.
    const found = lstatSync(directory, { throwIfNoEntry: false });
    // The last user of a server that stops may have deleted the directory meanwhile.
    if (found === undefined && attempts > 1) return socketDirectory(layout, attempts - 1);
    if (!found?.isDirectory() || ![uid, process.getuid?.()].includes(found.uid) || (found.mode & 0o077) !== 0)
      throw new Error(`${directory} must be a directory of user ${uid} with mode 0700; delete it`, { cause: error });
    if (found.uid !== uid) await changeOwner(owner, directory);
  }
  return directory;
};

const tryPort = (port: number): Promise<number | undefined> =>
  new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(undefined));
    probe.listen(port, LOOPBACK, () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' ? address?.port : undefined));
    });
  });

const freePort = async ({ home }: ClusterLayout): Promise<number> => {
  const known = readPlace(home)?.port;
  const port = (known && (await tryPort(known))) || (await tryPort(0));
  if (port === undefined) throw new Error(`No port is free on ${LOOPBACK}`);
  await savePlace(home, { port });
  return port;
};

/** The server's settings that make it listen. */
export const listenSettings = async (layout: ClusterLayout, transport: Transport): Promise<string[]> =>
  transport === 'socket'
    ? ['listen_addresses=', `port=${SOCKET_PORT}`, `unix_socket_directories=${await socketDirectory(layout)}`]
    : [`listen_addresses=${LOOPBACK}`, `port=${await freePort(layout)}`, 'unix_socket_directories='];

/** A URL that `pg`, `psql` and `new URL` can all parse; with a socket, `host` in the query overrides the host name. */
export const urlOf = (postmaster: Postmaster, role: string, password: string): string =>
  postmaster.socketDirectory === ''
    ? `postgres://${role}:${password}@${LOOPBACK}:${postmaster.port}/postgres`
    : `postgres://${role}:${password}@localhost/postgres?host=${encodeURIComponent(postmaster.socketDirectory)}`;

/** The role the service connects as: not a superuser, so that a flaw in the service does not give access to the machine. */
export const SERVICE_ROLE = 'threat_protection';

/**
 * Creates the role. In clusters of earlier versions, which created everything as superuser, also makes the role the
 * owner of everything. Two processes may run these statements at the same time.
 */
const statementsFor = (password: string): string => `
begin;
select pg_advisory_xact_lock(20261125);
do $$
declare
  ours constant text := '^(log|read|read_(next|check)_.*)$';
  thing record;
begin
  if not exists (select from pg_roles where rolname = '${SERVICE_ROLE}') then
    create role ${SERVICE_ROLE} login;
  end if;
  alter role ${SERVICE_ROLE} password '${password}';
  grant create on database postgres to ${SERVICE_ROLE};
  for thing in
    select format('schema %I', nspname) as name from pg_namespace where nspname ~ ours
    union all
    select format('table %s', c.oid::regclass) from pg_class c join pg_namespace n on n.oid = relnamespace
    where nspname ~ ours and relkind = 'r'
    union all
    select format('function %s', p.oid::regprocedure) from pg_proc p join pg_namespace n on n.oid = pronamespace
    where nspname ~ ours
  loop
    execute format('alter %s owner to ${SERVICE_ROLE}', thing.name);
  end loop;
end
$$;
commit`;

/** Creates the role, or sets its password to that of the role's password file. */
export const createServiceRole = async (layout: ClusterLayout, postmaster: Postmaster): Promise<void> => {
  const connectionString = urlOf(postmaster, SUPERUSER, await choosePassword(layout.passwordFile));
  const client = new Client({ connectionString });
  try {
    await client.connect();
    await client.query(statementsFor(await choosePassword(layout.rolePasswordFile)));
  } catch (cause) {
    throw new Error(
      `The role ${SERVICE_ROLE} could not be created in ${layout.cluster} with the superuser's password in ` +
        `${layout.passwordFile}: ${(cause as Error).message}. If the file is not of this database, restore ` +
        `${layout.home} as it was with this database, or move both away to start with an empty database.`,
      { cause },
    );
  } finally {
    await client.end();
  }
};
