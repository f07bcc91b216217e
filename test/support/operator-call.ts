import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { run } from '../../src/cli/run.js';

export interface CommandResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

const runCommand = async (env: NodeJS.ProcessEnv, words: readonly string[]): Promise<CommandResult> => {
  const before = process.env;
  const written = { stdout: '', stderr: '' };
  // The streams themselves are shared with all specs in the same Jest process, so only the properties are replaced.
  const mocks = (['stdout', 'stderr'] as const).map((name) => {
    const write = (text: unknown): boolean => {
      written[name] += String(text);
      return true;
    };
    return jest.spyOn(process, name, 'get').mockReturnValue(Object.create(process[name], { write: { value: write } }));
  });
  const dataDir = mkdtempSync(join(tmpdir(), 'operator-'));
  process.env = { ...before, LOG_FORMAT: 'json', DATA_DIR: dataDir, ...env };
  process.exitCode = undefined;
  try {
    await run(words);
    return { code: Number(process.exitCode ?? 0), out: written.stdout, err: written.stderr };
  } finally {
    process.exitCode = undefined;
    process.env = before;
    for (const each of mocks) each.mockRestore();
    rmSync(dataDir, { recursive: true });
  }
};

let last: Promise<unknown> = Promise.resolve();

/**
 * Runs an operator command in this process, because starting a process takes a second of CPU time. Commands run one
 * after another, each with an empty `DATA_DIR` of its own unless `env` names one. Behaviour that needs a process, such
 * as signals, is tested with `startProgram`.
 */
export const operatorCall = (env: NodeJS.ProcessEnv, ...words: string[]): Promise<CommandResult> => {
  const call = last.then(() => runCommand(env, words));
  last = call.catch(() => {});
  return call;
};
