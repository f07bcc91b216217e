import { mkdir, readdir, rm, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface Keys {
  /** For events of every organization. */
  readonly ingest: string;
  /** Read and write access to the demo's organization. */
  readonly organization: string;
}

/** The file with each key's header line. */
export type KeyHeaders = Keys;

const folderIn = (dataDir: string): string => join(dataDir, 'demo');
const fileOf = (name: keyof Keys, url: string): string => `${name}-key-${new URL(url).port}.header`;
const HEADER_FILE = /^(?:ingest|organization)-key-\d*\.header$/;

/**
 * Writes each key as a header line to a file that only this user can read. A key on curl's command line, even from a
 * shell variable, could be read by every process on the machine.
 * @param url part of the file names, so that two demos do not overwrite each other's keys
 */
export const writeKeyHeaders = async (dataDir: string, url: string, keys: Keys): Promise<KeyHeaders> => {
  const folder = folderIn(dataDir);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const write = async (name: keyof Keys): Promise<string> => {
    const file = join(folder, fileOf(name, url));
    // An existing file would keep its mode.
    await rm(file, { force: true });
    await writeFile(file, `X-API-KEY: ${keys[name]}\n`, { mode: 0o600, flag: 'wx' });
    return file;
  };
  return { ingest: await write('ingest'), organization: await write('organization') };
};

/**
 * Deletes the header files of demos, and their folder if nothing else is in it.
 * @param url of one demo only; absent: of all demos
 * @returns how many
 */
export const deleteKeyHeaders = async (dataDir: string, url?: string): Promise<number> => {
  const folder = folderIn(dataDir);
  const isMeant = (file: string): boolean =>
    url === undefined ? HEADER_FILE.test(file) : file === fileOf('ingest', url) || file === fileOf('organization', url);
  const unlessAbsent = (error: NodeJS.ErrnoException): string[] => {
    if (error.code === 'ENOENT') return [];
    throw error;
  };
  const files = (await readdir(folder).catch(unlessAbsent)).filter(isMeant);
  for (const file of files) await rm(join(folder, file), { force: true });
  await rmdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOTEMPTY' && error.code !== 'ENOENT') throw error;
  });
  return files.length;
};
