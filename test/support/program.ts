import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { eventually } from './eventually.js';

/** A built program of the service, in a process of its own. */
export interface Program {
  readonly process: ChildProcess;
  /** What it has written so far, to both streams. */
  said(): string;
  out(): string;
  err(): string;
  /** Where it listens, by its last words about it. */
  url(): string | undefined;
  /** @throws Error with its words where it ends before it listens */
  listening(): Promise<string>;
  /** Whether it has ended. */
  isOver(): boolean;
  /** @returns the exit code, or the signal that killed it */
  ended(): Promise<number | NodeJS.Signals>;
  /** Asks it to stop and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<number | NodeJS.Signals>;
}

export interface ProgramOptions {
  /** Added to this process's. */
  readonly env: NodeJS.ProcessEnv;
  /** The folder of the built programs. Default `dist`. */
  readonly installed?: string;
}

/** Starts a built program, whose words go to the specs as they do to a file. */
export const startProgram = (
  program: 'src/main.js' | 'src/cli.js' | 'projections/main.js',
  words: readonly string[],
  { env, installed = 'dist' }: ProgramOptions,
): Program => {
  const child = spawn(process.execPath, [resolve(installed, program), ...words], {
    env: { ...process.env, LOG_FORMAT: 'json', ...env },
    stdio: ['pipe', 'pipe', 'pipe', 'ipc'],
  });
  const text = { said: '', out: '', err: '' };
  child.stdout!.setEncoding('utf8').on('data', (chunk: string) => {
    text.said += chunk;
    text.out += chunk;
  });
  child.stderr!.setEncoding('utf8').on('data', (chunk: string) => {
    text.said += chunk;
    text.err += chunk;
  });
  // What it wrote last is read after its exit. Its `close` does not come where the channel to it was closed here.
  const over = Promise.all([once(child, 'exit'), once(child.stdout!, 'close'), once(child.stderr!, 'close')]);
  const isOver = (): boolean => child.exitCode !== null || child.signalCode !== null;
  const url = (): string | undefined => [...text.said.matchAll(/Listening on (http:\/\/[\d.]+:\d+)/g)].at(-1)?.[1];
  const ended = async (): Promise<number | NodeJS.Signals> => {
    await over;
    return child.signalCode ?? child.exitCode!;
  };
  return {
    process: child,
    said: () => text.said,
    out: () => text.out,
    err: () => text.err,
    url,
    isOver,
    ended,
    listening: async () => {
      await eventually(`${program} listens`, () => {
        if (isOver()) throw new Error(`${program} ended with ${child.signalCode ?? child.exitCode}: ${text.said}`);
        return url() !== undefined;
      });
      return url()!;
    },
    stop: (signal = 'SIGTERM') => {
      if (!isOver()) child.kill(signal);
      return ended();
    },
  };
};
