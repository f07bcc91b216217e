import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { link, readFile, rm, writeFile } from 'node:fs/promises';

/** Reads a password, or chooses a random one first. Processes that do so at once get the same one. */
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
