import { open } from 'node:fs/promises';

/**
 * Checked before anything begins: a mistyped name must not end a long call half way.
 * @param files `-` is standard input
 * @throws if one of them cannot be read
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
