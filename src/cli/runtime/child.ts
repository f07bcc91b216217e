import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { ConfigError, EXIT_CONFIG } from '../../runtime/config.js';
import type { WriteLog } from '../../runtime/log-line.js';
import { pause } from '../../flow/retry.js';

const RESTART_DELAY_MS = 1_000;
/** How the end of a process with an invalid setting is described. */
const CONFIG_ERROR = `code ${EXIT_CONFIG}`;

/** The message sent by `notifySupervisor`. */
interface Ready {
  readonly url?: string;
}

/** A program of the service that is kept running as a child process. */
export class Child {
  #process: ChildProcess | undefined;
  readonly #stopping = new AbortController();

  /**
   * @param name used in log messages
   * @param args Node's flags and the script's absolute path
   * @param environment returns the environment of the process; called before each start
   * @param fail called if the process cannot run with its settings; the process is then not started again
   */
  constructor(
    private readonly name: string,
    private readonly args: readonly string[],
    private readonly environment: () => NodeJS.ProcessEnv,
    private readonly log: WriteLog,
    private readonly fail: (error: Error) => void,
  ) {}

  /**
   * Starts the process, and restarts the process one second after it exits. The restart cannot be configured, because
   * restart policies belong to systemd, Compose and Kubernetes.
   * @returns the message of the process that it is ready
   */
  start(): Promise<Ready> {
    return new Promise((resolve) => {
      this.#keepRunning(resolve).catch(this.fail);
    });
  }

  /** Stops the process gracefully or, after the timeout, by force. The process is not started again. */
  async stop(timeoutMs: number): Promise<void> {
    this.#stopping.abort();
    const child = this.#process;
    if (!child) return;
    const ended = once(child, 'exit');
    // Windows has no SIGTERM, but the child stops when the channel closes.
    if (process.platform === 'win32') child.disconnect();
    else child.kill('SIGTERM');
    const timer = setTimeout(() => {
      this.log(`The ${this.name} did not stop within ${timeoutMs} ms and was killed`);
      child.kill('SIGKILL');
    }, timeoutMs);
    await ended;
    clearTimeout(timer);
  }

  /** Kills the process. The process is not started again. */
  kill(): void {
    this.#stopping.abort();
    this.#process?.kill('SIGKILL');
  }

  async #keepRunning(onReady: (ready: Ready) => void): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const end = await this.#run(onReady);
      if (signal.aborted) return;
      if (end === CONFIG_ERROR)
        throw new ConfigError(`The ${this.name} does not start with these settings. See its output above.`);
      this.log(`The ${this.name} ended (${end}) and restarts in ${RESTART_DELAY_MS} ms`, 'warn');
      await pause(RESTART_DELAY_MS, signal);
    }
  }

  /** @returns the signal or the exit code with which the process ended */
  async #run(onReady: (ready: Ready) => void): Promise<string> {
    const child = spawn(process.execPath, this.args, {
      env: this.environment(),
      // When this process ends in any way, the channel closes, and the child notices the closed channel.
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      // Ctrl-C goes to this process only, which then stops its children in order.
      detached: process.platform !== 'win32',
    });
    this.#process = child;
    child.on('message', (message) => onReady(message as Ready));
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
