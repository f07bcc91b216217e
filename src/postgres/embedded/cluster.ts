import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { appendFile, chmod, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { ConfigError } from '../../runtime/config.js';
import type { Binaries } from './binaries.js';
import type { ClusterLayout } from './cluster-layout.js';
import { canEnter, changeOwner } from './os-user.js';
import { choosePassword } from './passwords.js';

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
