import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../test/support/eventually.js';
import { freePort } from '../../test/support/free-port.js';
import { sendRequest } from './http-request.js';
import type { RunContext } from './run-context.js';

/**
 * A program that runs an EventStoreDB server in the foreground, on loopback without TLS: `PROGRAM PORT FOLDER`. It must
 * `exec` the server, because the process is killed and frozen.
 */
const PROGRAM = process.env['TEST_EVENTSTORE_PROGRAM'];
/** On a busy machine, a start takes 30 seconds. */
const START_TIMEOUT_MS = 180_000;
const STOP_TIMEOUT_MS = 30_000;

/** Returns the reason to skip a scenario if no server can be started, otherwise undefined. */
export const noEventStore = async (): Promise<string | undefined> =>
  PROGRAM === undefined ? 'requires TEST_EVENTSTORE_PROGRAM, a program that starts an EventStoreDB server' : undefined;

/** A real EventStoreDB server that keeps its port and its data when it is restarted. */
export class EventStoreServer {
  private server: ChildProcess | undefined;

  private constructor(
    private readonly port: number,
    private readonly folder: string,
  ) {}

  /** Starts a new server. @returns the server once it is the leader */
  static async start(context: RunContext): Promise<EventStoreServer> {
    const store = new EventStoreServer(await freePort(), await context.folder());
    context.onEnd(() => store.kill());
    await store.start();
    return store;
  }

  get url(): string {
    return `esdb://127.0.0.1:${this.port}?tls=false`;
  }

  /** Starts the server with its existing data. @throws Error if it does not become leader in time */
  async start(): Promise<void> {
    // The server does not start with unknown EVENTSTORE_ variables.
    const { PATH, HOME } = process.env;
    const server = spawn(PROGRAM!, [String(this.port), this.folder], { env: { PATH, HOME }, stdio: 'ignore' });
    server.on('error', () => {});
    this.server = server;
    await eventually(
      'the event store is the leader',
      async () => {
        if (!this.isRunning) throw new Error(`The event store ended with ${server.exitCode}`);
        const info = sendRequest(`http://127.0.0.1:${this.port}/info`, { timeoutMs: 5_000 });
        return (await info.catch(() => undefined))?.body?.state === 'leader';
      },
      START_TIMEOUT_MS,
    );
  }

  /** Kills the server with SIGKILL. */
  kill(): Promise<void> {
    return this.end('SIGKILL');
  }

  /** Stops the server with SIGTERM. */
  stop(): Promise<void> {
    return this.end('SIGTERM');
  }

  /** Freezes the server for `ms` ms: its connections stay open, but it does not respond. */
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
    const timer = setTimeout(() => this.server!.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await ended;
    clearTimeout(timer);
  }
}
