import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, statSync, constants, lstatSync, readFileSync, realpathSync } from 'node:fs';
import { chown, chmod, readdir, readFile, link, rm, stat, access, mkdir, rename, writeFile } from 'node:fs/promises';
import { basename, dirname, join, isAbsolute, resolve } from 'node:path';
import { createHash, randomBytes } from 'node:crypto';
import { inDataDir, OWN_NAMES } from '../../runtime/config.js';

/** The user that the server runs as, if this process is root: PostgreSQL refuses to run as root. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

const idOf = (user: string): Owner | undefined => {
  try {
    const id = (option: string): number =>
      Number(execFileSync('id', [option, user], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
    const owner = { uid: id('-u'), gid: id('-g') };
    return owner.uid > 0 ? owner : undefined;
  } catch {
    return undefined;
  }
};

/**
 * The user that the server runs as. An existing cluster keeps its owner.
 * @returns undefined if the server runs as the current user
 */
export const serverOwner = (cluster: string): Owner | undefined => {
  if (process.getuid?.() !== 0) return undefined;
  if (existsSync(cluster)) {
    const { uid, gid } = statSync(cluster);
    if (uid !== 0) return { uid, gid };
  }
  return idOf('postgres') ?? idOf('nobody') ?? { uid: 65_534, gid: 65_534 };
};

/**
 * Whether the user can enter the directory. The test enters the directory, because modes, ACLs and mount options all
 * matter.
 */
export const canEnter = (owner: Owner | undefined, directory: string): boolean =>
  owner === undefined ||
  spawnSync('/bin/sh', ['-c', 'cd -- "$1"', 'sh', directory], { ...owner, cwd: '/', stdio: 'ignore' }).status === 0;

/** Makes the user the owner of the file or directory. Does nothing without a user. */
export const changeOwner = async (owner: Owner | undefined, path: string): Promise<void> => {
  if (owner) await chown(path, owner.uid, owner.gid);
};

/** The names that may be in `DATA_DIR`: those of the service, and the folder that a file system has at its root. */
const KNOWN_NAMES: ReadonlySet<string> = new Set([...OWN_NAMES, 'lost+found']);

/** @param serverUser the only other user who gets search permission; undefined if no other user gets it */
const closeDirectory = async (directory: string, serverUser: Owner | undefined): Promise<void> => {
  const { mode, uid, gid } = await stat(directory);
  if (serverUser && gid !== serverUser.gid) await chown(directory, uid, serverUser.gid);
  // If this process is root and the server is not, the server's group gets search permission only.
  const wanted = serverUser ? 0o710 : 0o700;
  if ((mode & 0o777) !== wanted) await chmod(directory, wanted);
};

const closeFile = async (file: string): Promise<void> => {
  if (((await stat(file)).mode & 0o077) !== 0) await chmod(file, 0o600);
};

const closeFiles = async (directory: string): Promise<void> => {
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    if (!entry.isFile()) continue;
    try {
      await closeFile(join(directory, entry.name));
    } catch (error) {
      // Another process of this service may have removed the file.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
};

/** Files in `directory` that the service did not create; empty if no other user can access the directory. */
const foreignFilesIn = async (directory: string): Promise<readonly string[]> =>
  ((await stat(directory)).mode & 0o066) === 0
    ? []
    : (await readdir(directory)).filter((name) => !KNOWN_NAMES.has(name));

/**
 * Restricts `DATA_DIR` to its owner, whatever permissions the directory and its files were created with, because the
 * directory holds passwords and everything ever reported. If `DATA_DIR` also contains other files, its own permissions
 * are left unchanged, and only the directories and files of this service in it are restricted.
 * @param serverUser the server's user, if the server runs as another user and the cluster is inside `DATA_DIR`
 * @param log called for files that stay accessible to others
 */
export const closeDataDir = async (
  dataDir: string,
  serverUser: Owner | undefined,
  log: (line: string) => void,
): Promise<void> => {
  if (process.platform === 'win32') return;
  const attempt = async (path: string, close: () => Promise<void>): Promise<void> => {
    try {
      await close();
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== 'ENOENT') log(`Could not restrict the permissions of ${path} to its owner: ${message}`);
    }
  };
  await attempt(dataDir, async () => {
    const foreignFiles = await foreignFilesIn(dataDir);
    if (foreignFiles.length === 0) return closeDirectory(dataDir, serverUser);
    log(
      `DATA_DIR ${dataDir} contains other files, such as ${JSON.stringify(foreignFiles[0])}; its permissions are left unchanged`,
    );
  });
  for (const name of OWN_NAMES) {
    const path = inDataDir(dataDir, name);
    await attempt(path, async () => {
      if (!(await stat(path)).isDirectory()) return closeFile(path);
      await closeDirectory(path, name === 'postgres' ? serverUser : undefined);
      await closeFiles(path);
    });
  }
};

/**
 * Reads the password from a file. If the file does not exist, creates it with a random password. Concurrent processes
 * get the same password.
 */
export const choosePassword = async (file: string): Promise<string> => {
  if (!existsSync(file)) {
    const partial = `${file}.${randomBytes(4).toString('hex')}.partial`;
    await writeFile(partial, randomBytes(24).toString('hex'), { mode: 0o600 });
    try {
      await link(partial, file);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    } finally {
      await rm(partial);
    }
  }
  return readFile(file, 'utf8');
};

/** A directory that is owned by root, that every user can enter, and that survives a reboot. */
const SHARED_DIRECTORY = '/var/lib';
/** The directory of all clusters that are outside of their data directories. */
const CLUSTERS = join(SHARED_DIRECTORY, 'threat-protection');

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
const passwordFileOf = (home: string): string => join(home, 'password');
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
 * Creates `/var/lib/threat-protection/<name>`, which every user can enter, and throws if root does not own both of
 * these directories.
 */
const createEnterableDirectory = async (ownName: string): Promise<string> => {
  let directory = SHARED_DIRECTORY;
  for (const name of [basename(CLUSTERS), ownName]) {
    directory = join(directory, name);
    await mkdir(directory, { recursive: true, mode: 0o711 });
    const found = lstatSync(directory);
    if (!found.isDirectory() || found.uid !== 0) throw new Error(`${directory} must be a directory that root owns`);
    await chmod(directory, 0o711);
  }
  return directory;
};

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16);

/**
 * Finds or chooses the layout of a data directory. The cluster is inside the data directory. If this process is root
 * and the server's user cannot enter the data directory, the cluster is in a directory under `/var/lib` that is named
 * after hashes of the data directory's path and of its password. A new data directory at the path of a deleted one has
 * another password, and therefore another cluster. `place.json` records the choice.
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
    const nameOf = async (): Promise<string> =>
      [realpathSync(dataDir), await choosePassword(passwordFileOf(home))].map(hashOf).join('-');
    known = canEnter(owner, home) ? 'cluster' : join(await createEnterableDirectory(await nameOf()), 'cluster');
    await savePlace(home, { cluster: known });
  }
  return {
    home,
    // A running server is recognised by this path, whichever way leads to the data directory.
    cluster: resolve(realpathSync(home), known),
    owner,
    serverUser: isAbsolute(known) ? undefined : owner,
    passwordFile: passwordFileOf(home),
    rolePasswordFile: rolePasswordFileOf(home),
    log: join(home, 'postgres.log'),
  };
};

/** The directories with clusters of earlier data directories at this path, which were deleted without their clusters. */
export const listOrphans = async ({ home, cluster }: ClusterLayout): Promise<readonly string[]> => {
  const own = dirname(cluster);
  if (dirname(own) !== CLUSTERS) return [];
  const names = await readdir(CLUSTERS);
  const ofPath = names.filter((name) => name.startsWith(hashOf(dirname(realpathSync(home)))));
  return ofPath.map((name) => join(CLUSTERS, name)).filter((directory) => directory !== own);
};

/**
 * Records which data directory a cluster outside of the data directory belongs to. A data directory that was moved
 * keeps its cluster.
 * @throws Error if this data directory is a copy of one that still uses the cluster
 */
export const claimCluster = async ({ home, cluster }: ClusterLayout): Promise<void> => {
  const own = realpathSync(home);
  if (cluster.startsWith(join(own, '/'))) return;
  const claim = `${cluster}.data-dir`;
  const other = existsSync(claim) ? readFileSync(claim, 'utf8') : undefined;
  if (other === own) return;
  if (other !== undefined && readPlace(other)?.cluster === cluster)
    throw new Error(
      `${home} is a copy of ${other}, and both would use the database in ${cluster}. Use ${other}, or delete ${home} to ` +
        `start with an empty database. To keep the data in both, stop the service, run cp -a '${cluster}' NEW, where NEW ` +
        `is a new folder that every user can reach, and write its path to ${placeFileOf(home)} as "cluster".`,
    );
  await writeFile(claim, own, { mode: 0o600 });
};
