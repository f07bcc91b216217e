import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** The response of a child process: the result of the work, or the message of the error. */
type ChildResponse<Done> = { readonly done: Done } | { readonly error: string };

export interface Child {
  readonly process: ChildProcess;
  /** The first message of the process. */
  readonly firstMessage: unknown;
  readonly stop: () => Promise<void>;
}

/** Sends a request to a child process. @throws Error with the message of the child if the request fails */
export const sendToChild = async <Done>({ process: child }: Child, request: object): Promise<Done> => {
  child.send(request);
  const [response] = (await once(child, 'message')) as [ChildResponse<Done>];
  if ('error' in response) throw new Error(`${child.spawnargs[1]} failed: ${response.error}`);
  return response.done;
};

/** Handles the requests of the parent process. Call it in a child process. */
export const serveParent = <Request>(work: (request: Request) => Promise<unknown>): void => {
  process.on('message', (request: Request) => {
    work(request).then(
      (done) => process.send!({ done }),
      (error: Error) => process.send!({ error: error.message }),
    );
  });
  process.on('disconnect', () => process.exit());
  process.send!('ready');
};

/**
 * Starts another built program as a child process, and waits for its first message.
 * @param path relative to the folder of the build, such as `src/main.js`
 * @param flags Node flags, in addition to the flags of this process
 * @throws Error with the last output of the program if it ends before its first message
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
  const firstMessage = await Promise.race([
    once(child, 'message').then(([message]) => message as unknown),
    once(child, 'exit').then(([code]) => {
      throw new Error(`${path} ended with ${code} before it was ready: ${errors.join('')}`);
    }),
  ]);
  return {
    process: child,
    firstMessage,
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
};
