import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { appendFile, chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { type Binaries, withInitdb } from './binaries.js';
import { canEnter, giveTo } from './os-user.js';
import { type ClusterLayout, saveState, loadState } from './cluster-layout.js';

export const SUPERUSER = 'postgres';

/** The cluster is renamed into place once it is complete. */
export const isCreated = (cluster: string): boolean => existsSync(cluster);

/** @throws Error if the cluster has disappeared: an empty one in its place would look like data loss */
const refuseToReplace = (layout: ClusterLayout): void => {
  if (!loadState(layout.home)?.created) return;
  throw new Error(
    `The database in ${layout.cluster} is missing. ` +
      `Restore it, or delete ${layout.home} to start with an empty database.`,
  );
};

/**
 * Creates the cluster if there is none: checksums on, UTF-8, compared by code point, a random password for every
 * connection. Complete or not at all: it is created beside its path and renamed.
 */
export const createCluster = async (layout: ClusterLayout, binaries: Binaries): Promise<void> => {
  const { cluster, owner, passwordFile } = layout;
  if (isCreated(cluster)) return;
  refuseToReplace(layout);
  const partial = `${cluster}.partial`;
  const passwordForInitdb = `${cluster}.password`;
  await rm(partial, { recursive: true, force: true });
  await mkdir(partial);
  await chmod(partial, 0o700);
  await giveTo(owner, partial);
  const password = randomBytes(24).toString('hex');
  await writeFile(passwordForInitdb, password, { mode: 0o600 });
  await giveTo(owner, passwordForInitdb);
  try {
    const words = [
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
    const { stdout, stderr } = await withInitdb(binaries, (initdb) =>
      promisify(execFile)(initdb, words, { ...owner, cwd: '/', env: { LC_ALL: 'C', TZ: 'UTC' } }),
    );
    await appendFile(layout.log, stdout + stderr, { mode: 0o600 });
  } catch (cause) {
    const { stdout = '', stderr = '', message } = cause as Error & { stdout?: string; stderr?: string };
    throw new Error(`initdb failed to create a database in ${cluster}: ${(stderr || stdout || message).trim()}`, {
      cause,
    });
  } finally {
    await rm(passwordForInitdb, { force: true });
  }
  await writeFile(passwordFile, password, { mode: 0o600 });
  await rename(partial, cluster);
  await saveState(layout.home, { created: true });
};

/** @throws Error if the server's user cannot reach the cluster, for example after the folder was moved */
export const refuseUnreachable = ({ home, cluster, owner }: ClusterLayout): void => {
  if (canEnter(owner, cluster)) return;
  throw new Error(
    `The user ${owner?.uid} that PostgreSQL runs as cannot enter ${cluster}. ` +
      `Grant search permission (chmod o+x) on every directory above ${home}, or move it back.`,
  );
};
