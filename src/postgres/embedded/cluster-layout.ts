import { createHash } from 'node:crypto';
import { constants, existsSync, lstatSync, readFileSync, realpathSync } from 'node:fs';
import { access, chmod, mkdir, rename, writeFile } from 'node:fs/promises';
import { isAbsolute, join, resolve } from 'node:path';
import { closeDirectory } from './data-dir.js';
import { canEnter, type Owner, serverOwner } from './os-user.js';

/** A directory that is owned by root, that every user can enter, and that survives a reboot. */
const SHARED_DIRECTORY = '/var/lib';

/** The contents of `DATA_DIR/postgres/place.json`. */
interface State {
  /** Relative to `home`; absolute if the server's user cannot enter `home`. */
  readonly cluster: string;
  readonly port?: number;
}

/** Where one embedded PostgreSQL keeps its files. */
export interface ClusterLayout {
  /** `DATA_DIR/postgres`: passwords, log, and the cluster if the server's user can enter. */
  readonly home: string;
  /** The directory of the cluster. The server's user can enter its parent. */
  readonly cluster: string;
  readonly owner: Owner | undefined;
  /** The other user who needs search permission on the data directory. */
  readonly serverUser: Owner | undefined;
  /** The superuser's password, for manual maintenance. */
  readonly passwordFile: string;
  /** The password of the service's role. */
  readonly rolePasswordFile: string;
  readonly log: string;
}

const stateFileOf = (home: string): string => join(home, 'place.json');

export const readState = (home: string): State | undefined =>
  existsSync(stateFileOf(home)) ? (JSON.parse(readFileSync(stateFileOf(home), 'utf8')) as State) : undefined;

export const saveState = async (home: string, change: Partial<State>): Promise<void> => {
  // The name contains the process id, because two processes may start at once.
  const partial = `${stateFileOf(home)}.${process.pid}.partial`;
  await writeFile(partial, JSON.stringify({ cluster: 'cluster', ...readState(home), ...change }), { mode: 0o600 });
  await rename(partial, stateFileOf(home));
};

/** A directory owned by root that every user can enter, inside one that only root can have created. */
const openDirectory = async (hash: string): Promise<string> => {
  let directory = SHARED_DIRECTORY;
  for (const name of ['threat-protection', hash]) {
    directory = join(directory, name);
    await mkdir(directory, { recursive: true, mode: 0o711 });
    const found = lstatSync(directory);
    if (!found.isDirectory() || found.uid !== 0) throw new Error(`${directory} must be a directory that root owns`);
    await chmod(directory, 0o711);
  }
  return directory;
};

/**
 * Finds or chooses the layout of a data directory. The cluster is inside it, unless we are root and the server's user
 * cannot enter; then it is in a directory named after a hash of the data directory's path, which is recorded.
 */
export const findClusterLayout = async (dataDir: string): Promise<ClusterLayout> => {
  const home = join(dataDir, 'postgres');
  const made: string[] = [];
  try {
    for (const directory of [dataDir, home]) if (await mkdir(directory, { recursive: true })) made.push(directory);
    await access(home, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw new Error(
      `The embedded PostgreSQL cannot keep its files in ${home}: ${(cause as Error).message}. ` +
        'Run the service as the user that the folder belongs to, or set another DATA_DIR.',
      { cause },
    );
  }
  let known = readState(home)?.cluster;
  const owner = serverOwner(resolve(home, known ?? 'cluster'));
  // Restrict access before anything is written; search permission is added when the cluster's location is known.
  for (const directory of made) await closeDirectory(directory, owner);
  if (known === undefined) {
    const hash = createHash('sha256').update(realpathSync(dataDir)).digest('hex').slice(0, 16);
    known = canEnter(owner, home) ? 'cluster' : join(await openDirectory(hash), 'cluster');
    await saveState(home, { cluster: known });
  }
  return {
    home,
    cluster: resolve(home, known),
    owner,
    serverUser: isAbsolute(known) ? undefined : owner,
    passwordFile: join(home, 'password'),
    rolePasswordFile: join(home, 'role-password'),
    log: join(home, 'postgres.log'),
  };
};
