import { chmod, chown, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Owner } from './os-user.js';

/** What the service keeps in `DATA_DIR`; and what a file system keeps at its root. */
const OURS: ReadonlySet<string> = new Set(['postgres', 'lists', 'lost+found']);

const DIRECTORY = 0o700;
/** Where we are root and the server is not: its group may pass, and do nothing else. */
const PASSABLE = 0o710;
const FILE = 0o600;

/** @param passer who may pass through the directory beside its owner; undefined: nobody */
export const closeDirectory = async (directory: string, passer: Owner | undefined): Promise<void> => {
  const { mode, uid, gid } = await stat(directory);
  if (passer && gid !== passer.gid) await chown(directory, uid, passer.gid);
  const wanted = passer ? PASSABLE : DIRECTORY;
  if ((mode & 0o777) !== wanted) await chmod(directory, wanted);
};

const closeFiles = async (directory: string): Promise<void> => {
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(directory, entry.name);
    try {
      if (((await stat(file)).mode & 0o077) !== 0) await chmod(file, FILE);
    } catch (error) {
      // Another process of this service creates and removes its files.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
};

/** What `directory` holds besides our own; empty where nobody else can get at it or it is ours alone. */
const strangersIn = async (directory: string): Promise<readonly string[]> =>
  ((await stat(directory)).mode & 0o066) === 0 ? [] : (await readdir(directory)).filter((name) => !OURS.has(name));

/**
 * Keeps `DATA_DIR` to its owner, whatever rights it and its files were made with: it holds passwords and everything that
 * was ever reported. A directory that holds other people's files too keeps its rights; what we put there does not.
 * @param passer the server's user, where it is another one and its cluster is in there
 * @param log called for files that stay accessible to others
 */
export const closeDataDir = async (
  dataDir: string,
  passer: Owner | undefined,
  log: (line: string) => void,
): Promise<void> => {
  if (process.platform === 'win32') return;
  const attempt = async (path: string, close: () => Promise<void>): Promise<void> => {
    try {
      await close();
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== 'ENOENT') log(`The rights of ${path} could not be narrowed to its owner: ${message}`);
    }
  };
  await attempt(dataDir, async () => {
    const strangers = await strangersIn(dataDir);
    if (strangers.length === 0) return closeDirectory(dataDir, passer);
    log(
      `DATA_DIR ${dataDir} holds files of others, such as ${JSON.stringify(strangers[0])}: its rights are left as they are`,
    );
  });
  for (const [name, through] of [
    ['postgres', passer],
    ['postgres/users', undefined],
    ['lists', undefined],
  ] as const) {
    const directory = join(dataDir, name);
    await attempt(directory, async () => {
      await closeDirectory(directory, through);
      await closeFiles(directory);
    });
  }
};
