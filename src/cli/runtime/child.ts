import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { ConfigError, EXIT_CONFIG } from '../../runtime/config.js';
import type { Tell } from '../../runtime/log-line.js';
import { Backoff, pause } from '../../flow/retry.js';

const FIRST_WAIT_MS = 100;
const MAX_WAIT_MS = 5_000;
/** A process that ran this long did not fail at its start. */
const HEALTHY_MS = 10_000;
/** Failed starts before giving up. */
const ATTEMPTS = 5;
/** How a process with an invalid setting exits. */
const BY_A_SETTING = `code ${EXIT_CONFIG}`;

/** The message sent by `tellParent`. */
interface ChildMessage {
  readonly url?: string;
  readonly opsUrl?: string;
}

/** A program of the service that is kept running as a child process. */
export class Child {
  #process: ChildProcess | undefined;
  readonly #stopping = new AbortController();

  /**
   * @param name used in log messages
   * @param args Node's flags and the script's absolute path
   * @param environment called before each start
   */
  constructor(
    private readonly name: string,
    private readonly args: readonly string[],
    private readonly environment: () => NodeJS.ProcessEnv,
    private readonly log: Tell,
  ) {}

  /**
   * Starts the process, and restarts it whenever it exits.
   * @returns its first message, sent once it is working
   * @throws Error if it keeps exiting without ever working
   */
  start(): Promise<ChildMessage> {
    return new Promise((resolve, reject) => {
      this.#keep(resolve).catch(reject);
    });
  }

  /** Stops it for good: gracefully within the time, then by force. */
  async stop(withinMs: number): Promise<void> {
    this.#stopping.abort();
    const child = this.#process;
    if (!child) return;
    const ended = once(child, 'exit');
    // Windows has no SIGTERM, but the child stops when the channel closes.
    if (process.platform === 'win32') child.disconnect();
    else child.kill('SIGTERM');
    const patience = setTimeout(() => {
      this.log(`The ${this.name} did not stop within ${withinMs} ms and was killed`);
      child.kill('SIGKILL');
    }, withinMs);
    await ended;
    clearTimeout(patience);
  }

  /** Kills it. */
  kill(): void {
    this.#stopping.abort();
    this.#process?.kill('SIGKILL');
  }

  async #keep(onMessage: (message: ChildMessage) => void): Promise<void> {
    const { signal } = this.#stopping;
    let worked = false;
    const backoff = new Backoff(FIRST_WAIT_MS, MAX_WAIT_MS);
    for (let failures = 0; !signal.aborted;) {
      const begin = performance.now();
      const end = await this.#run((message) => {
        worked = true;
        onMessage(message);
      });
      if (signal.aborted) return;
      if (performance.now() - begin > HEALTHY_MS) {
        failures = 0;
        backoff.reset();
      }
      failures += 1;
      if (!worked && end === BY_A_SETTING)
        throw new ConfigError(`The ${this.name} does not start with these settings. See its output above.`);
      if (!worked && failures >= ATTEMPTS)
        throw new Error(`The ${this.name} does not start: it ended ${failures} times (${end}). See its output above.`);
      const wait = backoff.next();
      this.log(`The ${this.name} ended (${end}) and restarts in ${wait} ms`, 'warn');
      await pause(wait, signal);
    }
  }

  /** @returns the signal or exit code */
  async #run(onMessage: (message: ChildMessage) => void): Promise<string> {
    const child = spawn(process.execPath, this.args, {
      env: this.environment(),
      // The channel closes with this process, however it ends, and the child notices.
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      // Ctrl-C goes to this process only, which then stops its children in order.
      detached: process.platform !== 'win32',
    });
    this.#process = child;
    child.on('message', (message) => onMessage(message as ChildMessage));
    try {
      const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
      return signal ?? `code ${code}`;
    } catch (error) {
      return (error as Error).message;
    } finally {
      this.#process = undefined;
    }
  }
}
