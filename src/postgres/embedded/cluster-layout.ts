import { createHash } from 'node:crypto';
import { constants, existsSync, lstatSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { access, chmod, mkdir, rename, writeFile } from 'node:fs/promises';
import { isAbsolute, join, resolve } from 'node:path';
import { inDataDir } from '../../runtime/data-dir.js';
import { closeDirectory } from './data-dir.js';
import { canEnter, type Owner, serverOwner } from './os-user.js';

/** A directory that is owned by root, that every user can enter, and that survives a reboot. */
const SHARED_DIRECTORY = '/var/lib';

/** The contents of `DATA_DIR/postgres/place.json`. */
interface Place {
  /** Relative to `home`; absolute if the server's user cannot enter `home`. */
  readonly cluster: string;
  readonly port?: number;
}

/** Where one embedded PostgreSQL keeps its files. */
export interface ClusterLayout {
  /** `DATA_DIR/postgres`: the passwords, the log and, if the server's user can enter this directory, the cluster. */
  readonly home: string;
  /** The directory of the cluster. The server's user can enter the parent of this directory. */
  readonly cluster: string;
  /** The user that the server runs as; undefined if that is the current user. */
  readonly owner: Owner | undefined;
  /** The other user who needs search permission on the data directory. */
  readonly serverUser: Owner | undefined;
  /** The superuser's password, for manual maintenance. */
  readonly passwordFile: string;
  /** The password of the service's role. */
  readonly rolePasswordFile: string;
  readonly log: string;
}

const placeFileOf = (home: string): string => join(home, 'place.json');
const rolePasswordFileOf = (home: string): string => join(home, 'role-password');

export const readPlace = (home: string): Place | undefined =>
  existsSync(placeFileOf(home)) ? (JSON.parse(readFileSync(placeFileOf(home), 'utf8')) as Place) : undefined;

export const savePlace = async (home: string, change: Partial<Place>): Promise<void> => {
  // The name contains the process id, because two processes may start at once.
  const partial = `${placeFileOf(home)}.${process.pid}.partial`;
  await writeFile(partial, JSON.stringify({ cluster: 'cluster', ...readPlace(home), ...change }), { mode: 0o600 });
  await rename(partial, placeFileOf(home));
};

/**
 * Whether a data directory holds a database, or held a database that is missing now. Changes nothing on disk. A
 * directory that this user cannot read counts as one that holds a database, so that opening it reports why.
 */
export const holdsDatabase = (dataDir: string): boolean => {
  const home = inDataDir(dataDir, 'postgres');
  try {
    const paths = [resolve(home, readPlace(home)?.cluster ?? 'cluster'), rolePasswordFileOf(home)];
    return paths.some((path) => statSync(path, { throwIfNoEntry: false }) !== undefined);
  } catch {
    return true;
  }
};

/**
 * Creates `/var/lib/threat-protection/<hash>`, which every user can enter, and throws if root does not own both of
 * these directories.
 */
const createEnterableDirectory = async (hash: string): Promise<string> => {
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
 * Finds or chooses the layout of a data directory. The cluster is inside the data directory. If this process is root
 * and the server's user cannot enter the data directory, the cluster is in a directory under `/var/lib` that is named
 * after a hash of the data directory's path. `place.json` records the choice.
 */
export const findClusterLayout = async (dataDir: string): Promise<ClusterLayout> => {
  const home = inDataDir(dataDir, 'postgres');
  const createdDirectories: string[] = [];
  try {
    for (const directory of [dataDir, home])
      if (await mkdir(directory, { recursive: true })) createdDirectories.push(directory);
    await access(home, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw new Error(
      `The embedded PostgreSQL cannot keep its files in ${home}: ${(cause as Error).message}. ` +
        'Run the service as the user that the folder belongs to, or set another DATA_DIR.',
      { cause },
    );
  }
  let known = readPlace(home)?.cluster;
  const owner = serverOwner(resolve(home, known ?? 'cluster'));
  // Restrict new directories before anything is written in them: other users get no access, except that the server's
  // user may enter. `closeDataDir` removes that permission if the cluster is elsewhere.
  for (const directory of createdDirectories) await closeDirectory(directory, owner);
  if (known === undefined) {
    const hash = createHash('sha256').update(realpathSync(dataDir)).digest('hex').slice(0, 16);
    known = canEnter(owner, home) ? 'cluster' : join(await createEnterableDirectory(hash), 'cluster');
    await savePlace(home, { cluster: known });
  }
  return {
    home,
    cluster: resolve(home, known),
    owner,
    serverUser: isAbsolute(known) ? undefined : owner,
    passwordFile: join(home, 'password'),
    rolePasswordFile: rolePasswordFileOf(home),
    log: join(home, 'postgres.log'),
  };
};
