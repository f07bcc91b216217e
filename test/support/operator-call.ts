import { jest } from '@jest/globals';
import { run } from '../../src/cli/runtime/run.js';

export interface Call {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

const callNow = async (env: NodeJS.ProcessEnv, words: readonly string[]): Promise<Call> => {
  const before = process.env;
  const said = { stdout: '', stderr: '' };
  const taken = (['stdout', 'stderr'] as const).map((stream) =>
    jest.spyOn(process[stream], 'write').mockImplementation((text) => {
      said[stream] += String(text);
      return true;
    }),
  );
  process.env = { ...before, LOG_FORMAT: 'json', ...env };
  process.exitCode = undefined;
  try {
    await run(words);
    return { code: Number(process.exitCode ?? 0), out: said.stdout, err: said.stderr };
  } finally {
    process.exitCode = undefined;
    process.env = before;
    for (const stream of taken) stream.mockRestore();
  }
};

let last: Promise<unknown> = Promise.resolve();

/**
 * Makes an operator's call in this process, after those that were begun before it: a process of its own takes a second
 * of the processor to load. What only a process has, such as signals, is tested with `startProgram`.
 */
export const operatorCall = (env: NodeJS.ProcessEnv, ...words: string[]): Promise<Call> => {
  const call = last.then(() => callNow(env, words));
  last = call.catch(() => {});
  return call;
};
