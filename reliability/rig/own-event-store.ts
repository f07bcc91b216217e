import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../test/support/eventually.js';
import { freePort } from '../../test/support/free-port.js';
import { ask } from './ask.js';
import type { Scene } from './scene.js';

/**
 * A program that runs an EventStoreDB server in the foreground, without TLS and on loopback: `PROGRAM PORT FOLDER`. Its
 * process must be the server's own (`exec`), because it is killed and frozen.
 */
const PROGRAM = process.env['TEST_EVENTSTORE_PROGRAM'];
/** Half a minute is usual on a machine that is busy with other things. */
const STARTS_WITHIN_MS = 180_000;
const STOPS_WITHIN_MS = 30_000;

/** Why no server can be started here. */
export const noEventStore = async (): Promise<string | undefined> =>
  PROGRAM === undefined ? 'It needs TEST_EVENTSTORE_PROGRAM, a program that starts an EventStoreDB server' : undefined;

/** A real EventStoreDB server of the run's own, which keeps its port and its data when it is started again. */
export class OwnEventStore {
  private server: ChildProcess | undefined;

  private constructor(
    private readonly port: number,
    private readonly folder: string,
  ) {}

  /** @returns the server once it leads */
  static async start(scene: Scene): Promise<OwnEventStore> {
    const store = new OwnEventStore(await freePort(), await scene.folder());
    scene.later(() => store.kill());
    await store.start();
    return store;
  }

  get url(): string {
    return `esdb://127.0.0.1:${this.port}?tls=false`;
  }

  /** Starts the server with the data that it has. @throws Error if it does not lead in time */
  async start(): Promise<void> {
    // The server refuses to start if it is given EVENTSTORE_ variables that it does not know.
    const { PATH, HOME } = process.env;
    const server = spawn(PROGRAM!, [String(this.port), this.folder], { env: { PATH, HOME }, stdio: 'ignore' });
    server.on('error', () => {});
    this.server = server;
    await eventually(
      'the event store leads',
      async () => {
        if (!this.isRunning) throw new Error(`The event store ended with ${server.exitCode}`);
        const info = ask(`http://127.0.0.1:${this.port}/info`, { timeoutMs: 5_000 });
        return (await info.catch(() => undefined))?.body?.state === 'leader';
      },
      STARTS_WITHIN_MS,
    );
  }

  /** kill -9 */
  kill(): Promise<void> {
    return this.end('SIGKILL');
  }

  /** An orderly stop. */
  stop(): Promise<void> {
    return this.end('SIGTERM');
  }

  /** Freezes the server: its connections stay open and nothing answers. */
  async freeze(ms: number): Promise<void> {
    this.server!.kill('SIGSTOP');
    await sleep(ms);
    this.server!.kill('SIGCONT');
  }

  private get isRunning(): boolean {
    return this.server?.pid !== undefined && this.server.exitCode === null && this.server.signalCode === null;
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    if (!this.isRunning) return;
    const ended = once(this.server!, 'exit');
    this.server!.kill(signal);
    const timer = setTimeout(() => this.server!.kill('SIGKILL'), STOPS_WITHIN_MS);
    await ended;
    clearTimeout(timer);
  }
}
