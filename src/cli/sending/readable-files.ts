import { open } from 'node:fs/promises';

/**
 * Checks that files can be read, so that a mistyped name fails before anything is sent.
 * @param files the paths; `-` is standard input
 * @throws Error if a file cannot be read
 */
export const requireReadable = async (files: readonly string[]): Promise<void> => {
  for (const file of files) {
    if (file === '-') continue;
    try {
      const handle = await open(file);
      const isFolder = (await handle.stat()).isDirectory();
      await handle.close();
      if (isFolder) throw new Error('it is a folder');
    } catch (error) {
      throw new Error(`${file} cannot be read: ${(error as Error).message}`, { cause: error });
    }
  }
};
