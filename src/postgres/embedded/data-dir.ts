import { chmod, chown, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { inDataDir, OWN_NAMES } from '../../runtime/data-dir.js';
import type { Owner } from './os-user.js';

/** The names that may be in `DATA_DIR`: those of the service, and the folder that a file system has at its root. */
const KNOWN_NAMES: ReadonlySet<string> = new Set([...OWN_NAMES, 'lost+found']);

/** @param serverUser the only other user who gets search permission; undefined if no other user gets it */
export const closeDirectory = async (directory: string, serverUser: Owner | undefined): Promise<void> => {
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
