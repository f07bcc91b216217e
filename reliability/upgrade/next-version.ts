import { cp, readFile, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { EXTENDED } from './extension.js';

const BEGIN = 'const MIGRATIONS = {';

/**
 * Creates the next version: a copy of the built programs with one more migration, `extension`.
 * @param folder an empty folder
 * @returns the folder of its built programs
 * @throws Error if the list of migrations is not found in the built file
 */
export const makeNextVersion = async (folder: string): Promise<string> => {
  const [installed, built] = [join(folder, 'dist'), resolve('dist')];
  for (const part of ['src', 'projections']) await cp(join(built, part), join(installed, part), { recursive: true });
  await cp(resolve('package.json'), join(folder, 'package.json'));
  await symlink(resolve('node_modules'), join(folder, 'node_modules'));
  const file = join(installed, 'src/read-models/prepare-tables.js');
  const text = await readFile(file, 'utf8');
  if (!text.includes(BEGIN)) throw new Error(`${file} must contain "${BEGIN}", so that a migration can be added`);
  const extension = pathToFileURL(join(built, 'reliability/upgrade/extension.js')).href;
  const names = text.replace(BEGIN, `${BEGIN}\n    '${EXTENDED}': extension,`);
  await writeFile(file, `import { extension } from '${extension}';\n${names}`);
  return installed;
};
