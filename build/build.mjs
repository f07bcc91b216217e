/**
 * Compiles the project in the current folder into `dist`, unless `dist` is up to date. The build is made in a folder of
 * its own and then renamed, because a running service may use the present `dist`. `--no-check` skips the type check; a
 * later build with the type check does not treat such a build as up to date. `--service` builds only what `demo` and
 * `start` run, also without the type check; it accepts every other build that is up to date, and no other call accepts
 * such a build.
 */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { bundleDependencies } from './dependencies.mjs';
import { stampOf } from './stamp.mjs';

// The programs check the version of Node themselves (`src/runtime/version.ts`), but the build runs first.
const least = JSON.parse(readFileSync('package.json', 'utf8')).engines.node.replace('>=', '');
if (process.version.localeCompare(`v${least}`, 'en', { numeric: true }) < 0) {
  console.error(`This is Node ${process.version}; the service needs Node ${least} or later`);
  process.exit(78);
}

const OUT = 'dist';
const STAMP = 'stamp';
const NEXT = `${OUT}.${process.pid}`;

const isRunning = (pid) => {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
};

/** Deletes the folders that killed builds have left behind. */
const sweep = () => {
  for (const name of readdirSync('.')) {
    const pid = /^dist\.(\d+)(?:\.old)?$/.exec(name)?.[1];
    if (pid !== undefined && !isRunning(Number(pid))) rmSync(name, { recursive: true, force: true });
  }
};

/** Replaces `dist` by two renames, so that it is missing only for an instant and never incomplete. */
const switchOver = () => {
  const old = `${NEXT}.old`;
  if (existsSync(OUT)) renameSync(OUT, old);
  renameSync(NEXT, OUT);
  rmSync(old, { recursive: true, force: true });
};

/**
 * Copies the files that the compiler ignores. The folders are created here, because a copy of a read-only folder of `src`
 * would be read-only too, and a later build could not delete it.
 */
const copyAssets = () => {
  for (const entry of readdirSync('src', { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.name.endsWith('.ts')) continue;
    const folder = join(NEXT, entry.parentPath);
    mkdirSync(folder, { recursive: true });
    copyFileSync(join(entry.parentPath, entry.name), join(folder, entry.name));
  }
};

const stamp = stampOf([
  'src',
  'projections',
  'test',
  'reliability',
  'bench',
  import.meta.dirname,
  'package-lock.json',
  'nest-cli.json',
  'tsconfig.json',
  'tsconfig.build.json',
]);
const isService = process.argv.includes('--service');
const isUnchecked = isService || process.argv.includes('--no-check');
const own = isService ? `${stamp} service` : isUnchecked ? `${stamp} unchecked` : stamp;
const accepted = [stamp, ...(isUnchecked ? [`${stamp} unchecked`] : []), own];
const stampFile = join(OUT, STAMP);
const current = existsSync(stampFile) ? readFileSync(stampFile, 'utf8') : undefined;
if (!accepted.includes(current)) {
  console.error('Building; this takes up to a minute');
  sweep();
  try {
    // Imported only if needed, because loading the compiler takes a second.
    const { compile } = await import('./compile.mjs');
    if (compile(NEXT, isUnchecked, isService ? ['src', 'projections', 'docs'] : undefined)) {
      copyAssets();
      await bundleDependencies(NEXT);
      // An installed link to the operator's command (`bin` in package.json) runs this file.
      const command = join(NEXT, 'src/cli.js');
      if (existsSync(command)) chmodSync(command, 0o755);
      writeFileSync(join(NEXT, STAMP), own);
      switchOver();
    } else process.exitCode = 1;
  } finally {
    rmSync(NEXT, { recursive: true, force: true });
  }
}
