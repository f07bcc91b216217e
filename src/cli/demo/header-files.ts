import { mkdir, readdir, rm, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inDataDir } from '../../runtime/config.js';

export interface Keys {
  /** The key for sending events of any organization. */
  readonly ingest: string;
  /** The key with read and write access to the organization of the demo. */
  readonly organization: string;
}

/** For each key, the path of the file with the header line of the key. */
export type KeyHeaders = Keys;

const folderIn = (dataDir: string): string => inDataDir(dataDir, 'demo');
const fileOf = (name: keyof Keys, url: string): string => `${name}-key-${new URL(url).port}.header`;
const HEADER_FILE = /^(?:ingest|organization)-key-\d*\.header$/;

/**
 * Writes each key as a header line to a file that only this user can read. A key on the command line of curl could be
 * read by every process on the machine.
 * @param url the URL of the API; its port is part of the file names, so that two demos do not overwrite each other's
 *   keys
 */
export const writeKeyHeaders = async (dataDir: string, url: string, keys: Keys): Promise<KeyHeaders> => {
  const folder = folderIn(dataDir);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const write = async (name: keyof Keys): Promise<string> => {
    const file = join(folder, fileOf(name, url));
    // The file is removed first, because an existing file would keep its mode.
    await rm(file, { force: true });
    await writeFile(file, `X-API-KEY: ${keys[name]}\n`, { mode: 0o600, flag: 'wx' });
    return file;
  };
  return { ingest: await write('ingest'), organization: await write('organization') };
};

/**
 * Deletes the header files of demos, and deletes the folder of these files if the folder is then empty.
 * @param url the URL of the demo whose files are deleted; if undefined, the files of all demos are deleted
 * @returns how many files were deleted
 */
export const deleteKeyHeaders = async (dataDir: string, url?: string): Promise<number> => {
  const folder = folderIn(dataDir);
  const isSelected = (file: string): boolean =>
    url === undefined ? HEADER_FILE.test(file) : file === fileOf('ingest', url) || file === fileOf('organization', url);
  const unlessAbsent = (error: NodeJS.ErrnoException): string[] => {
    if (error.code === 'ENOENT') return [];
    throw error;
  };
  const files = (await readdir(folder).catch(unlessAbsent)).filter(isSelected);
  for (const file of files) await rm(join(folder, file), { force: true });
  await rmdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOTEMPTY' && error.code !== 'ENOENT') throw error;
  });
  return files.length;
};
