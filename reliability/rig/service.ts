import { setTimeout as sleep } from 'node:timers/promises';
import { sendRequest } from './http-request.js';
import { descendants, type Environment, Process } from './processes.js';
import type { RunContext } from './run-context.js';

export interface ServiceOptions {
  readonly env: Environment;
  /** The number of projectors. Default: 1. */
  readonly projectors?: number;
  /** A module that every process loads before its program. */
  readonly preload?: string | undefined;
  /** Whether the processes are started and supervised by the command of `npm start`. */
  readonly supervised?: boolean;
}

/** A running service: supervised by one command, or an API process and its projectors. */
export class Service {
  private constructor(
    readonly api: Process,
    readonly projectors: readonly Process[],
  ) {}

  private static launch(context: RunContext, { env, projectors = 1, preload, supervised }: ServiceOptions): Service {
    if (supervised) return new Service(Process.start(context, 'src/cli', env, { args: ['start'] }), []);
    const start = (program: 'src/main' | 'projections/main'): Process =>
      Process.start(context, program, env, { preload });
    return new Service(
      start('src/main'),
      Array.from({ length: projectors }, () => start('projections/main')),
    );
  }

  /** Starts a service, and waits until it is ready. */
  static async start(context: RunContext, options: ServiceOptions): Promise<Service> {
    const service = Service.launch(context, options);
    await service.ready();
    return service;
  }

  get processes(): readonly Process[] {
    return [this.api, ...this.projectors];
  }

  /** The URL of the API, or a URL that refuses connections if the API does not listen yet. */
  get url(): string {
    return this.api.url ?? 'http://127.0.0.1:1';
  }

  async ready(timeoutMs = 90_000): Promise<void> {
    const until = Date.now() + timeoutMs;
    for (;;) {
      const dead = this.processes.find(({ isRunning }) => !isRunning);
      if (dead) throw new Error(`${dead.program} ended with ${dead.exitCode}: ${dead.lines.slice(-5).join('\n')}`);
      const { status } = await sendRequest(`${this.url}/health/ready`, { timeoutMs: 3_000 }).catch(() => ({
        status: 0,
      }));
      if (status === 200) return;
      if (Date.now() > until)
        throw new Error(`Not ready within ${timeoutMs} ms: ${this.api.lines.slice(-5).join('\n')}`);
      await sleep(20);
    }
  }

  /** Kills all processes with SIGKILL, but not the embedded database. */
  async kill(): Promise<void> {
    const children = descendants(this.processes);
    await Promise.all(this.processes.map((process) => process.kill()));
    for (const { kill } of children) kill();
  }

  /** Kills only the supervisor with SIGKILL, and waits until its child processes have ended by themselves. */
  async killSupervisor(): Promise<void> {
    const children = descendants(this.processes);
    await this.api.kill();
    for (const until = Date.now() + 15_000; children.some(({ isRunning }) => isRunning()) && Date.now() < until;)
      await sleep(20);
  }

  /** Kills only the child processes with SIGKILL; the supervisor restarts them. */
  killChildren(): void {
    for (const { kill } of descendants(this.processes)) kill();
  }

  /** Stops all processes. @returns the duration of the slowest stop in ms */
  async stop(): Promise<number> {
    return Math.max(...(await Promise.all(this.processes.map((process) => process.stop()))));
  }
}
