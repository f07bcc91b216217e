import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

/** The commit of the previous release, which deployments upgrade from. Each release updates it. */
const COMMIT = 'abd0bec877d49701799fc950b9da4e4618bbde42';

const PARTS = ['package.json', 'package-lock.json', 'tsconfig.json', 'nest-cli.json', 'src', 'projections'];

/** Whether this clone contains the commit of the previous release. A shallow clone may not. */
export const hasReleaseBefore = (): boolean =>
  spawnSync('git', ['cat-file', '-e', `${COMMIT}^{commit}`], { stdio: 'ignore' }).status === 0;

/**
 * Builds the previous release from its commit, with the dependencies of this version.
 * @returns the folder of its built programs
 */
export const buildReleaseBefore = async (folder: string): Promise<string> => {
  await mkdir(folder, { recursive: true });
  const archive = spawn('git', ['archive', COMMIT, ...PARTS], { stdio: ['ignore', 'pipe', 'inherit'] });
  const unpacked = spawn('tar', ['-x', '-C', folder], { stdio: [archive.stdout, 'inherit', 'inherit'] });
  const [code] = (await once(unpacked, 'exit')) as [number];
  if (code !== 0) throw new Error(`${COMMIT} cannot be unpacked`);
  await symlink(resolve('node_modules'), join(folder, 'node_modules'));
  await promisify(execFile)(process.execPath, [resolve('build/build.mjs'), '--no-check'], { cwd: folder });
  return join(folder, 'dist');
};
