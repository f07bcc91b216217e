import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { EXIT_CONFIG } from '../config.js';
import { Backoff, pause } from '../retry.js';

const FIRST_WAIT_MS = 100;
const MAX_WAIT_MS = 5_000;
/** Who lived this long did not die of the same thing again. */
const HEALTHY_MS = 10_000;
/** A process that has never worked and failed this often will not. */
const ATTEMPTS = 5;
/** What a process ended by a wrong setting is said to have ended with. */
const BY_A_SETTING = `code ${EXIT_CONFIG}`;

/** What a process tells with `tellParent`. */
interface Told {
  readonly url?: string;
  readonly opsUrl?: string;
}

/** A program of the service that is kept running, as a process of its own. */
export class Child {
  #process: ChildProcess | undefined;
  readonly #stopping = new AbortController();

  /**
   * @param name for the sentences about it
   * @param args of Node: its flags, the script's absolute path
   * @param environment asked before each start
   */
  constructor(
    private readonly name: string,
    private readonly args: readonly string[],
    private readonly environment: () => NodeJS.ProcessEnv,
    private readonly log: (line: string) => void,
  ) {}

  /**
   * Starts it, and again whenever it ends.
   * @returns what it tells first, as soon as it does its work
   * @throws Error where it ends again and again without ever doing so
   */
  start(): Promise<Told> {
    return new Promise((resolve, reject) => {
      this.#keep(resolve).catch(reject);
    });
  }

  /** Stops it for good: as it likes within the time, then by force. Milliseconds. */
  async stop(withinMs: number): Promise<void> {
    this.#stopping.abort();
    const child = this.#process;
    if (!child) return;
    const ended = once(child, 'exit');
    // Windows knows no SIGTERM, but the child stops when the channel closes.
    if (process.platform === 'win32') child.disconnect();
    else child.kill('SIGTERM');
    const patience = setTimeout(() => {
      this.log(`The ${this.name} did not stop within ${withinMs} ms and is ended`);
      child.kill('SIGKILL');
    }, withinMs);
    await ended;
    clearTimeout(patience);
  }

  /** Ends it now. */
  kill(): void {
    this.#stopping.abort();
    this.#process?.kill('SIGKILL');
  }

  async #keep(onTold: (told: Told) => void): Promise<void> {
    const { signal } = this.#stopping;
    let worked = false;
    const backoff = new Backoff(FIRST_WAIT_MS, MAX_WAIT_MS);
    for (let failures = 0; !signal.aborted;) {
      const begin = Date.now();
      const end = await this.#run((told) => {
        worked = true;
        onTold(told);
      });
      if (signal.aborted) return;
      if (Date.now() - begin > HEALTHY_MS) {
        failures = 0;
        backoff.reset();
      }
      failures += 1;
      if (!worked && end === BY_A_SETTING)
        throw new Error(`The ${this.name} does not start with these settings. Its words stand above.`);
      if (!worked && failures >= ATTEMPTS)
        throw new Error(`The ${this.name} does not start: it ended ${failures} times (${end}). Its words stand above.`);
      const wait = backoff.next();
      this.log(`The ${this.name} ended (${end}) and is started again in ${wait} ms`);
      await pause(wait, signal);
    }
  }

  /** @returns how it ended */
  async #run(onTold: (told: Told) => void): Promise<string> {
    const child = spawn(process.execPath, this.args, {
      env: this.environment(),
      // The channel closes with this process, however it ends, and the child notices.
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      // Ctrl-C is for this process alone, which then stops its children in order.
      detached: process.platform !== 'win32',
    });
    this.#process = child;
    child.on('message', (told) => onTold(told as Told));
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
