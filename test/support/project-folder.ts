import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

/** Letters, blanks, quotes, and characters with a special meaning in patterns, URLs or shells. */
export const NAME = `my dir ü 100% "q" 'a' $& (1)`;

const folders: string[] = [];

/**
 * Creates a folder with everything that the build needs, but nothing to build.
 * @param copied further files and folders of the project that are copied into the folder
 */
export const newFolder = (name: string, copied: readonly string[]): string => {
  const parent = mkdtempSync(join(tmpdir(), 'build-'));
  folders.push(parent);
  const folder = join(parent, name);
  mkdirSync(folder);
  for (const each of [...copied, 'package.json', 'nest-cli.json', 'tsconfig.json', 'build'])
    cpSync(each, join(folder, each), { recursive: true });
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  return folder;
};

export const removeFolders = (): void => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
};

export const build = (folder: string, ...words: string[]) =>
  promisify(execFile)(process.execPath, ['build/build.mjs', ...words], { cwd: folder });
