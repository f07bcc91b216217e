import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

const isProgram = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

/**
 * Returns the path of a program: the given one, else the first of some names on the PATH, else undefined.
 * @param given ignored if it is no program
 */
export const findProgram = (names: readonly string[], given?: string): string | undefined => {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const onPath = names.flatMap((name) => folders.map((folder) => join(folder, name)));
  return [given ?? [], onPath].flat().find(isProgram);
};
