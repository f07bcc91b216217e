import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

/** The release that a deployment upgrades from; the next release sets its own predecessor. */
const COMMIT = '67e0f2431a5ec44beb695c412f300b294be96373';

const PARTS = ['package.json', 'package-lock.json', 'tsconfig.json', 'nest-cli.json', 'src', 'projections'];

/** A shallow clone does not have it. */
export const hasReleaseBefore = (): boolean =>
  spawnSync('git', ['cat-file', '-e', `${COMMIT}^{commit}`], { stdio: 'ignore' }).status === 0;

/**
 * Builds it from its commit with the installed dependencies.
 * @returns its built programs
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
