import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** The response of a child process: its result or its error. */
type Answered<Done> = { readonly done: Done } | { readonly error: string };

export interface Child {
  readonly process: ChildProcess;
  /** The first message of the process. */
  readonly firstMessage: unknown;
  readonly stop: () => Promise<void>;
}

/** Sends a request to a child process. @throws Error with the message of the child if the request fails */
export const askChild = async <Done>({ process: child }: Child, asked: object): Promise<Done> => {
  child.send(asked);
  const [answered] = (await once(child, 'message')) as [Answered<Done>];
  if ('error' in answered) throw new Error(`${child.spawnargs[1]} failed: ${answered.error}`);
  return answered.done;
};

/** Handles the requests of the parent, in a child process. */
export const answerParent = <Asked>(work: (asked: Asked) => Promise<unknown>): void => {
  process.on('message', (asked: Asked) => {
    work(asked).then(
      (done) => process.send!({ done }),
      (error: Error) => process.send!({ error: error.message }),
    );
  });
  process.on('disconnect', () => process.exit());
  process.send!('ready');
};

/**
 * Starts another built program, and waits for its first message.
 * @param path from the folder of the build: `src/main.js`
 * @param flags flags of Node, in addition to the flags of this process
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
  // The output is read, as a log collector would, so that the pipe does not fill up.
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
    firstMessage: said,
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
};
