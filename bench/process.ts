import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface Child {
  readonly process: ChildProcess;
  /** The first thing that it said. */
  readonly said: unknown;
  readonly stop: () => Promise<void>;
}

/**
 * Starts a built program beside this one, and waits for the first message it sends.
 * @param path from the folder of the build: `src/main.js`
 * @param flags of Node, beside this process's own
 */
export const startChild = async (
  path: string,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
  flags: readonly string[] = [],
): Promise<Child> => {
  const file = fileURLToPath(new URL(`../${path}`, import.meta.url));
  const child = fork(file, args, {
    env: { ...process.env, ...env },
    execArgv: [...process.execArgv, ...flags],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  // Read, as whoever collects logs does.
  child.stdout!.resume();
  const errors: string[] = [];
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    errors.push(text);
    if (errors.length > 20) errors.shift();
  });
  const said = await Promise.race([
    once(child, 'message').then(([message]) => message as unknown),
    once(child, 'exit').then(([code]) => {
      throw new Error(`${path} ended with ${code} before it was ready: ${errors.join('')}`);
    }),
  ]);
  return {
    process: child,
    said,
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
};
