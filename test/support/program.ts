import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { eventually } from './eventually.js';

/** A running process of a built program. */
export interface Program {
  readonly process: ChildProcess;
  /** The output of both streams so far. */
  output(): string;
  out(): string;
  err(): string;
  /** The URL in the last line "Listening on …" of the output. */
  url(): string | undefined;
  /** @throws Error with the output of the process if it ends before it listens */
  listening(): Promise<string>;
  /** Whether the process has ended. */
  isOver(): boolean;
  /** @returns the exit code, or the signal that killed it */
  ended(): Promise<number | NodeJS.Signals>;
  /** Sends a signal (default: SIGTERM) and waits until the process has ended. */
  stop(signal?: NodeJS.Signals): Promise<number | NodeJS.Signals>;
  /** Ends the process without its graceful stop, which a second signal ends, for specs that only clean up. */
  end(): Promise<number | NodeJS.Signals>;
}

export interface ProgramOptions {
  /** Added to the environment of this process. */
  readonly env: NodeJS.ProcessEnv;
  /** The folder of the built programs. Default `dist`. */
  readonly installed?: string;
}

/** Starts a built program and collects its output. */
export const startProgram = (
  program: 'src/main.js' | 'src/deliver.js' | 'src/cli.js' | 'projections/main.js',
  words: readonly string[],
  { env, installed = 'dist' }: ProgramOptions,
): Program => {
  const child = spawn(process.execPath, [resolve(installed, program), ...words], {
    env: { ...process.env, LOG_FORMAT: 'json', ...env },
    stdio: ['pipe', 'pipe', 'pipe', 'ipc'],
  });
  const text = { both: '', out: '', err: '' };
  child.stdout!.setEncoding('utf8').on('data', (chunk: string) => {
    text.both += chunk;
    text.out += chunk;
  });
  child.stderr!.setEncoding('utf8').on('data', (chunk: string) => {
    text.both += chunk;
    text.err += chunk;
  });
  // The last output may arrive after the exit. The event `close` is not emitted if this process has closed the IPC
  // channel.
  const over = Promise.all([once(child, 'exit'), once(child.stdout!, 'close'), once(child.stderr!, 'close')]);
  const isOver = (): boolean => child.exitCode !== null || child.signalCode !== null;
  const url = (): string | undefined => [...text.both.matchAll(/Listening on (http:\/\/[\d.]+:\d+)/g)].at(-1)?.[1];
  const ended = async (): Promise<number | NodeJS.Signals> => {
    await over;
    return child.signalCode ?? child.exitCode!;
  };
  return {
    process: child,
    output: () => text.both,
    out: () => text.out,
    err: () => text.err,
    url,
    isOver,
    ended,
    listening: async () => {
      await eventually(`${program} listens`, () => {
        if (isOver()) throw new Error(`${program} ended with ${child.signalCode ?? child.exitCode}: ${text.both}`);
        return url() !== undefined;
      });
      return url()!;
    },
    stop: (signal = 'SIGTERM') => {
      if (!isOver()) child.kill(signal);
      return ended();
    },
    end: () => {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) child.kill(signal);
      return ended();
    },
  };
};
