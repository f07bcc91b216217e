import { existsSync, readdirSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Environment, Process } from './processes.js';

const LIBRARIES = '/usr/lib';
const LIBRARY = 'faketime/libfaketime.so.1';

/** Returns the path of the library of the Debian package `faketime`, or undefined if it is not installed. */
export const findFaketime = (): string | undefined =>
  readdirSync(LIBRARIES)
    .map((folder) => join(LIBRARIES, folder, LIBRARY))
    .find((path) => existsSync(path));

/** Removes the shared memory that the library leaves behind when the process is killed. */
export const removeSharedMemoryAfter = ({ pid, ended }: Process): void => {
  void ended.then(async () => {
    for (const name of [`faketime_shm_${pid}`, `sem.faketime_sem_${pid}`])
      await rm(join('/dev/shm', name), { force: true });
  });
};

/** A fake wall clock for a process, which can be set while the process runs. The monotonic clock is not changed. */
export class FakeClock {
  private constructor(
    private readonly file: string,
    private readonly library: string,
  ) {}

  /** @param folder holds the file from which the process reads the offset of its clock */
  static async create(folder: string, name: string): Promise<FakeClock> {
    const clock = new FakeClock(join(folder, `clock-of-${name}`), findFaketime()!);
    await clock.set(0);
    return clock;
  }

  /** The environment of a process that uses this clock. */
  get env(): Environment {
    return {
      LD_PRELOAD: this.library,
      FAKETIME_TIMESTAMP_FILE: this.file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    };
  }

  /** Sets the offset from the true time in ms; a negative offset sets the clock back. */
  async set(offsetMs: number): Promise<void> {
    const seconds = offsetMs / 1_000;
    // Replaced atomically, because the process may read the file at any time.
    await writeFile(`${this.file}.next`, `${seconds < 0 ? '' : '+'}${seconds}\n`);
    await rename(`${this.file}.next`, this.file);
  }
}
