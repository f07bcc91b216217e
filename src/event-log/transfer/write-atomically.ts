import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';

/**
 * Writes a compressed file that only its owner can read. The file is complete and on disk as soon as it exists under its
 * name; an earlier file of this name is replaced.
 * @throws the error of `text` or of the file system; no partial file is left then
 */
export const writeAtomically = async (
  path: string,
  text: AsyncIterable<string>,
  signal: AbortSignal,
): Promise<void> => {
  const partial = `${path}.${randomBytes(6).toString('hex')}.partial`;
  try {
    const file = createWriteStream(partial, { flags: 'wx', mode: 0o600, flush: true });
    await pipeline(text, createGzip(), file, { signal });
    await rename(partial, path);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
  const folder = await open(dirname(path));
  await folder.sync().finally(() => folder.close());
};
