import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { processIdentity } from './processes.js';

/** Who uses the server now: a file for each, named by its pid, holding its start. Call these under the lock. */

/** @returns the file that stands for this use */
export const addUser = async (directory: string): Promise<string> => {
  await mkdir(directory, { recursive: true });
  const file = join(directory, `${process.pid}.${randomBytes(4).toString('hex')}`);
  await writeFile(file, processIdentity(process.pid) ?? '');
  return file;
};

export const removeUser = (file: string): Promise<void> => rm(file, { force: true });

/** How many live; the files of the killed ones are removed. */
export const countUsers = async (directory: string): Promise<number> => {
  let living = 0;
  for (const name of await readdir(directory).catch(() => [])) {
    const file = join(directory, name);
    const identity = await readFile(file, 'utf8').catch(() => '');
    if (identity !== '' && processIdentity(Number.parseInt(name, 10)) === identity) living++;
    else await removeUser(file);
  }
  return living;
};
