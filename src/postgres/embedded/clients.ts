import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { processIdentity } from './processes.js';

/** Clients of the server: a file for each, named by its pid, holding its start time. Call these under the lock. */

/** @returns the file that represents this use */
export const registerClient = async (directory: string): Promise<string> => {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const file = join(directory, `${process.pid}.${randomBytes(4).toString('hex')}`);
  await writeFile(file, processIdentity(process.pid) ?? '', { mode: 0o600 });
  return file;
};

export const unregisterClient = (file: string): Promise<void> => rm(file, { force: true });

const lives = (name: string, identity: string): boolean =>
  identity !== '' && processIdentity(Number.parseInt(name, 10)) === identity;

/** The number of live clients; files of killed ones are removed. */
export const countClients = async (directory: string): Promise<number> => {
  let living = 0;
  for (const name of await readdir(directory).catch(() => [])) {
    const file = join(directory, name);
    const identity = await readFile(file, 'utf8').catch(() => '');
    if (lives(name, identity)) living++;
    else await unregisterClient(file);
  }
  return living;
};

/**
 * Deregisters this process synchronously at exit, without taking the lock.
 * @returns whether it was the last one
 */
export const unregisterEndingClient = (file: string): boolean => {
  const directory = dirname(file);
  rmSync(file, { force: true });
  return !readdirSync(directory).some((name) => lives(name, readFileSync(join(directory, name), 'utf8')));
};
