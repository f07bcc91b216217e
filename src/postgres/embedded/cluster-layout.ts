import { createHash } from 'node:crypto';
import { constants, existsSync, lstatSync, readFileSync, realpathSync } from 'node:fs';
import { access, chmod, mkdir, rename, writeFile } from 'node:fs/promises';
import { isAbsolute, join, resolve } from 'node:path';
import { closeDirectory } from './data-dir.js';
import { canEnter, type Owner, serverOwner } from './os-user.js';

const NAME = 'threat-protection';

/** Root's own, and they outlive a restart of the machine; the second for where the first cannot be written. */
const OPEN_TO_ALL = ['/var/lib', '/var/tmp'];

/** What is remembered in `DATA_DIR/postgres/place.json`. */
interface Remembered {
  /** Relative to the home; absolute where the server's user cannot enter there. */
  readonly cluster: string;
  /** A cluster has been made there. */
  readonly created?: boolean;
  readonly socketDirectory?: string;
  readonly port?: number;
}

/** Where one embedded PostgreSQL keeps what is its own. */
export interface ClusterLayout {
  /** `DATA_DIR/postgres`: lock, users, password, log, and the cluster where the server's user can enter. */
  readonly home: string;
  /** The server's user can enter its parent. */
  readonly cluster: string;
  readonly owner: Owner | undefined;
  /** Who has to pass through the data directory beside ourselves. */
  readonly passer: Owner | undefined;
  readonly users: string;
  /** The superuser's password, for manual maintenance. */
  readonly passwordFile: string;
  /** The service's. */
  readonly rolePasswordFile: string;
  readonly log: string;
}

const memoryOf = (home: string): string => join(home, 'place.json');

export const loadState = (home: string): Remembered | undefined =>
  existsSync(memoryOf(home)) ? (JSON.parse(readFileSync(memoryOf(home), 'utf8')) as Remembered) : undefined;

export const saveState = async (home: string, change: Partial<Remembered>): Promise<void> => {
  // Named by the process: two may start at once, and this is before either has the lock.
  const partial = `${memoryOf(home)}.${process.pid}.partial`;
  await writeFile(partial, JSON.stringify({ cluster: 'cluster', ...loadState(home), ...change }), { mode: 0o600 });
  await rename(partial, memoryOf(home));
};

/** A directory of root's that every user can enter, inside one of this service's that nobody else could have made. */
const openDirectory = async (hash: string): Promise<string> => {
  let reason: unknown;
  for (const base of OPEN_TO_ALL) {
    try {
      let directory = base;
      for (const name of [NAME, hash]) {
        directory = join(directory, name);
        await mkdir(directory, { recursive: true, mode: 0o711 });
        const found = lstatSync(directory);
        if (!found.isDirectory() || found.uid !== 0) throw new Error(`${directory} is not root's`);
        await chmod(directory, 0o711);
      }
      return directory;
    } catch (error) {
      reason = error;
    }
  }
  throw new Error(`No directory for the database in ${OPEN_TO_ALL.join(' or ')}`, { cause: reason });
};

/**
 * Finds the place that belongs to a data directory, or chooses it: in there, unless we are root and the user that the
 * server runs as cannot enter. Then in a directory that is named after the data directory's path, and remembered.
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
  let known = loadState(home)?.cluster;
  const owner = serverOwner(resolve(home, known ?? 'cluster'));
  // Closed to all others before there is anything in them; who may pass shows where the cluster is put.
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
    passer: isAbsolute(known) ? undefined : owner,
    users: join(home, 'users'),
    passwordFile: join(home, 'password'),
    rolePasswordFile: join(home, 'role-password'),
    log: join(home, 'postgres.log'),
  };
};
