import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';

const filesIn = (path) => {
  if (!existsSync(path)) return [];
  if (statSync(path).isFile()) return [path];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
};

/**
 * @param paths files and folders; a missing one counts as empty
 * @returns a hash of their contents, without the specs, which are not built
 */
export const stampOf = (paths) => {
  const hash = createHash('sha256');
  for (const path of paths)
    for (const file of filesIn(path).sort()) {
      if (file.endsWith('.spec.ts')) continue;
      const bytes = readFileSync(file);
      hash.update(`${basename(path)} ${file.slice(path.length)} ${bytes.length}\0`).update(bytes);
    }
  return hash.digest('hex');
};
