import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { link, readFile, rm, writeFile } from 'node:fs/promises';

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
