import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunContext } from './run-context.js';

/** Returns the path of a built file. */
const built = (path: string, installed = join(process.cwd(), 'dist')): string => join(installed, `${path}.js`);

/** Returns the URL of a built file. */
export const builtUrl = (path: string): string => pathToFileURL(built(path)).href;
/** Returns the URL of a module in `preload/`. */
export const preloadOf = (name: string): string => builtUrl(`reliability/rig/preload/${name}`);

/** The limits are off, because all requests come from one address and few keys. */
const LIMITS_OFF = {
  RATE_LIMIT_PER_MINUTE: '0',
  UNAUTHENTICATED_RATE_LIMIT_PER_MINUTE: '0',
  MAX_CONNECTIONS_PER_ADDRESS: '0',
};

export type Environment = Readonly<Record<string, string>>;

interface StartOptions {
  /** The arguments of the program. */
  readonly args?: readonly string[];
  /** A module that the process loads before its program. */
  readonly preload?: string | undefined;
  /** The folder of the built programs. Default: `dist`. */
  readonly installed?: string | undefined;
}

/** A process of the built service. It ends when this process ends, because the IPC channel is then closed. */
export class Process {
  readonly lines: string[] = [];
  /** What the process has written to standard output. */
  printed = '';
  readonly ended: Promise<void>;
  /** The URL of the process; undefined until the process has printed it. */
  url: string | undefined;
  /** The URL of the operators' port; undefined until the process has printed it. */
  opsUrl: string | undefined;
  /** Whether the process has reported readiness over the IPC channel. */
  hasReportedReady = false;

  private constructor(
    readonly program: string,
    private readonly child: ChildProcess,
  ) {
    this.ended = once(child, 'exit').then(() => undefined);
    child.once('message', () => (this.hasReportedReady = true));
    child.stdout!.setEncoding('utf8').on('data', (text: string) => (this.printed += text));
    for (const stream of [child.stdout!, child.stderr!]) {
      // A long line arrives in several parts.
      let rest = '';
      stream.once('end', () => rest !== '' && this.lines.push(rest));
      stream.setEncoding('utf8').on('data', (text: string) => {
        const lines = (rest + text).split('\n');
        rest = lines.pop()!;
        this.lines.push(...lines);
        this.url = /Listening on (http:[^"\s]+)/.exec(text)?.[1] ?? this.url;
        this.opsUrl = /operators on (http:[^"\s]+)/.exec(text)?.[1] ?? this.opsUrl;
      });
    }
  }

  static start(
    context: RunContext,
    program: string,
    env: Environment,
    { args = [], preload, installed }: StartOptions = {},
  ): Process {
    const nodeFlags = preload === undefined ? [] : ['--import', preload];
    const { PATH, HOME, SOURCES_FILE } = process.env;
    const child = spawn(process.execPath, [...nodeFlags, built(program, installed), ...args], {
      env: {
        PATH,
        HOME,
        SOURCES_FILE,
        LOG_FORMAT: 'json',
        PORT: '0',
        ...LIMITS_OFF,
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    const started = new Process(program, child);
    context.onEnd(() => started.kill());
    context.keepFile(`${program.replace('/', '-')}-${child.pid}.log`, () => started.lines.join('\n'));
    return started;
  }

  get pid(): number {
    return this.child.pid!;
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  get exitCode(): number | null {
    return this.child.exitCode;
  }

  /** Sends a message to the preloaded module. */
  tell(message: 'hang' | 'go'): void {
    this.child.send(message);
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Kills the process with SIGKILL. */
  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.ended;
  }

  /** Sends SIGTERM, and SIGKILL after 15 seconds. @returns how long the stop took, in ms */
  async stop(): Promise<number> {
    const begin = Date.now();
    this.child.kill('SIGTERM');
    await Promise.race([this.ended, sleep(15_000, undefined, { ref: false })]);
    const took = Date.now() - begin;
    await this.kill();
    return took;
  }
}

/** Returns the direct and indirect child processes that belong to the service. */
export const descendants = (
  processes: readonly Process[],
): { readonly kill: () => void; readonly isRunning: () => boolean }[] => {
  const all = execFileSync('ps', ['-A', '-ww', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line)?.slice(1) ?? [])
    .map(([pid, parent, words = '']) => ({ pid: Number(pid), parent: Number(parent), words }));
  const found = new Set(processes.map(({ pid }) => pid));
  for (let grown = true; grown;) {
    const children = all.filter(
      ({ pid, parent, words }) => found.has(parent) && !found.has(pid) && words.includes('dist/'),
    );
    for (const { pid } of children) found.add(pid);
    grown = children.length > 0;
  }
  const signal = (pid: number, name: NodeJS.Signals | 0): boolean => {
    try {
      return process.kill(pid, name);
    } catch {
      return false;
    }
  };
  return [...found]
    .filter((pid) => !processes.some((one) => one.pid === pid))
    .map((pid) => ({ kill: () => void signal(pid, 'SIGKILL'), isRunning: () => signal(pid, 0) }));
};

/** Runs an operator command, and waits until it has ended. `printed` is its result, `output` also has its messages. */
export const call = async (
  context: RunContext,
  env: Environment,
  args: readonly string[],
  installed?: string,
): Promise<{ code: number | null; printed: string; output: string; process: Process }> => {
  const process = Process.start(context, 'src/cli', env, { args, installed });
  await process.ended;
  // The last output arrives after the exit.
  await sleep(10);
  return { code: process.exitCode, printed: process.printed, output: process.lines.join('\n'), process };
};
