import { open, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { processIdentity } from './processes.js';

const FREE = 'free';
const POLL_MS = 20;
/** How long a lock file may be empty: its holder writes to it right after creating it. */
const WRITE_MS = 2_000;
/** Longer than the longest recovery that runs while the lock is held. */
const PATIENCE_MS = 360_000;

const fileOf = (directory: string, number: number): string => join(directory, `lock.${number}`);

const newest = async (directory: string): Promise<number> => {
  const numbers = (await readdir(directory)).map((name) => Number(/^lock\.(\d+)$/.exec(name)?.[1] ?? 0));
  return Math.max(0, ...numbers);
};

/** @returns the holder's pid; undefined if the lock is free, or its holder was killed */
const holderOf = async (file: string): Promise<number | undefined> => {
  try {
    const text = await readFile(file, 'utf8');
    if (text === FREE) return undefined;
    if (text === '') return Date.now() - (await stat(file)).mtimeMs < WRITE_MS ? 0 : undefined;
    const [pid, identity] = text.split('\n');
    return processIdentity(Number(pid)) === identity ? Number(pid) : undefined;
  } catch (error) {
    // The next holder has deleted it; retry.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
};

/**
 * A lock is taken by creating the file with the next number, which only one process can; the newest file is never
 * removed. So a dead holder is succeeded by the next number, and two processes that find it dead cannot both succeed it.
 */
const take = async (directory: string): Promise<string> => {
  const until = performance.now() + PATIENCE_MS;
  for (;;) {
    const last = await newest(directory);
    const holder = last === 0 ? undefined : await holderOf(fileOf(directory, last));
    if (holder !== undefined) {
      if (performance.now() > until)
        throw new Error(`Process ${holder} has held the lock in ${directory} for too long`);
      await sleep(POLL_MS);
      continue;
    }
    const mine = fileOf(directory, last + 1);
    try {
      const handle = await open(mine, 'wx', 0o600);
      await handle.writeFile(`${process.pid}\n${processIdentity(process.pid)}`);
      await handle.close();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue;
      throw error;
    }
    // A process that considered us dead, or saw a newer state, has a higher number.
    if ((await newest(directory)) !== last + 1) {
      await rm(mine, { force: true });
      continue;
    }
    for (const name of await readdir(directory)) {
      const number = Number(/^lock\.(\d+)$/.exec(name)?.[1] ?? Infinity);
      if (number <= last) await rm(join(directory, name), { force: true });
    }
    return mine;
  }
};

const free = async (file: string): Promise<void> => {
  try {
    const handle = await open(file, 'r+');
    await handle.truncate();
    await handle.writeFile(FREE);
    await handle.close();
  } catch (error) {
    // The directory was deleted while the lock was held.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
};

/** Runs `work` exclusively, across processes, for this directory. */
export const underLock = async <T>(directory: string, work: () => Promise<T>): Promise<T> => {
  const file = await take(directory);
  try {
    return await work();
  } finally {
    await free(file);
  }
};
