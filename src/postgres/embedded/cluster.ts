import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { appendFile, chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { Binaries } from './binaries.js';
import { canEnter, giveTo } from './os-user.js';
import { type ClusterLayout, saveState, loadState } from './cluster-layout.js';

export const SUPERUSER = 'postgres';

/** It is moved to its place when it is whole. */
export const isCreated = (cluster: string): boolean => existsSync(cluster);

/** @throws Error where a cluster was there and is not any more: an empty one instead would look like lost data */
const refuseToReplace = (place: ClusterLayout): void => {
  if (!loadState(place.home)?.created) return;
  throw new Error(
    `The database was in ${place.cluster} and is not there any more. ` +
      `Put it back, or delete ${place.home} to begin with an empty one.`,
  );
};

/**
 * Makes the cluster where there is none: checksums on, UTF-8, compared by code point, a random password for every
 * connection. Whole or not at all: it is made beside its place and moved there.
 */
export const createCluster = async (place: ClusterLayout, { initdb }: Binaries): Promise<void> => {
  const { cluster, owner, passwordFile } = place;
  if (isCreated(cluster)) return;
  refuseToReplace(place);
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
    const { stdout, stderr } = await promisify(execFile)(
      initdb,
      [
        `--pgdata=${partial}`,
        `--pwfile=${passwordForInitdb}`,
        `--username=${SUPERUSER}`,
        '--auth=scram-sha-256',
        '--encoding=UTF8',
        '--locale-provider=libc',
        '--locale=C',
        '--data-checksums',
        '--no-instructions',
      ],
      { ...owner, cwd: '/', env: { LC_ALL: 'C', TZ: 'UTC' } },
    );
    await appendFile(place.log, stdout + stderr, { mode: 0o600 });
  } catch (cause) {
    const { stdout = '', stderr = '', message } = cause as Error & { stdout?: string; stderr?: string };
    throw new Error(`initdb could not make a database in ${cluster}: ${(stderr || stdout || message).trim()}`, {
      cause,
    });
  } finally {
    await rm(passwordForInitdb, { force: true });
  }
  await writeFile(passwordFile, password, { mode: 0o600 });
  await rename(partial, cluster);
  await saveState(place.home, { created: true });
};

/** @throws Error where the server's user cannot get at the cluster, as after a move of the folder */
export const refuseUnreachable = ({ home, cluster, owner }: ClusterLayout): void => {
  if (canEnter(owner, cluster)) return;
  throw new Error(
    `The user ${owner?.uid} that PostgreSQL runs as cannot enter ${cluster}. ` +
      `Let others pass through every folder above ${home}, or move it back.`,
  );
};
