/**
 * Compiles the project in the current folder into `dist`, unless that is current: beside the one that is there, which a
 * running service may use, then in its place. With `--no-check` whatever its types are; a build that looks at them does
 * not take that one for current.
 */
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundleDependencies } from './dependencies.mjs';
import { stampOf } from './stamp.mjs';

// The programs look at it themselves (`src/runtime/node-version.ts`), but the build runs first.
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

/** What builds that were killed have left. */
const sweep = () => {
  for (const name of readdirSync('.')) {
    const pid = /^dist\.(\d+)(?:\.old)?$/.exec(name)?.[1];
    if (pid !== undefined && !isRunning(Number(pid))) rmSync(name, { recursive: true, force: true });
  }
};

/** Two renames, so that there is always a whole `dist` but for the instant between them. */
const switchOver = () => {
  const old = `${NEXT}.old`;
  if (existsSync(OUT)) renameSync(OUT, old);
  renameSync(NEXT, OUT);
  rmSync(old, { recursive: true, force: true });
};

/** What the compiler does not read. */
const copyAssets = () => cpSync('src', join(NEXT, 'src'), { recursive: true, filter: (file) => !file.endsWith('.ts') });

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
const isUnchecked = process.argv.includes('--no-check');
const UNCHECKED = `${stamp} unchecked`;
const stampFile = join(OUT, STAMP);
const current = existsSync(stampFile) ? readFileSync(stampFile, 'utf8') : undefined;
if (current !== stamp && !(isUnchecked && current === UNCHECKED)) {
  sweep();
  try {
    // Loaded only now: it takes a second.
    const { compile } = await import('./compile.mjs');
    if (compile(NEXT, isUnchecked)) {
      copyAssets();
      await bundleDependencies(NEXT);
      writeFileSync(join(NEXT, STAMP), isUnchecked ? UNCHECKED : stamp);
      switchOver();
    } else process.exitCode = 1;
  } finally {
    rmSync(NEXT, { recursive: true, force: true });
  }
}
