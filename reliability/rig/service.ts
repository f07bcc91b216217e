import { setTimeout as sleep } from 'node:timers/promises';
import { ask } from './ask.js';
import { descendants, type Environment, Process } from './processes.js';
import type { Scene } from './scene.js';

export interface ServiceOptions {
  readonly env: Environment;
  /** How many projectors; 1 unless told. */
  readonly projectors?: number;
  /** A file that is loaded into every process before it begins. */
  readonly preload?: string | undefined;
  /** Started by `npm start`'s command, which keeps the others running. */
  readonly supervised?: boolean;
}

/** The service as an operator runs it: by one command, or the API and its projectors as processes of their own. */
export class Service {
  private constructor(
    readonly api: Process,
    readonly projectors: readonly Process[],
  ) {}

  private static launch(scene: Scene, { env, projectors = 1, preload, supervised }: ServiceOptions): Service {
    if (supervised) return new Service(Process.start(scene, 'src/cli', env, { words: ['start'] }), []);
    const start = (program: 'src/main' | 'projections/main'): Process =>
      Process.start(scene, program, env, { preload });
    return new Service(
      start('src/main'),
      Array.from({ length: projectors }, () => start('projections/main')),
    );
  }

  /** @returns the service when it is ready */
  static async start(scene: Scene, options: ServiceOptions): Promise<Service> {
    const service = Service.launch(scene, options);
    await service.ready();
    return service;
  }

  get processes(): readonly Process[] {
    return [this.api, ...this.projectors];
  }

  /** Where it listens; while it does not yet, an address that refuses. */
  get url(): string {
    return this.api.url ?? 'http://127.0.0.1:1';
  }

  async ready(timeoutMs = 90_000): Promise<void> {
    const until = Date.now() + timeoutMs;
    for (;;) {
      const dead = this.processes.find(({ isRunning }) => !isRunning);
      if (dead) throw new Error(`${dead.program} ended with ${dead.exitCode}: ${dead.lines.slice(-5).join('\n')}`);
      const { status } = await ask(`${this.url}/health/ready`, { timeoutMs: 3_000 }).catch(() => ({ status: 0 }));
      if (status === 200) return;
      if (Date.now() > until)
        throw new Error(`Not ready within ${timeoutMs} ms: ${this.api.lines.slice(-5).join('\n')}`);
      await sleep(20);
    }
  }

  /** kill -9 of every process at once; not of a database that they started. */
  async kill(): Promise<void> {
    const children = descendants(this.processes);
    await Promise.all(this.processes.map((process) => process.kill()));
    for (const { kill } of children) kill();
  }

  /** kill -9 of the supervisor alone; its children have to find out by themselves. @returns when they have ended */
  async killSupervisor(): Promise<void> {
    const children = descendants(this.processes);
    await this.api.kill();
    for (const until = Date.now() + 15_000; children.some(({ isRunning }) => isRunning()) && Date.now() < until;)
      await sleep(20);
  }

  /** kill -9 of the children alone; the supervisor has to start them again. */
  killChildren(): void {
    for (const { kill } of descendants(this.processes)) kill();
  }

  /** @returns how long the slowest took, ms */
  async stop(): Promise<number> {
    return Math.max(...(await Promise.all(this.processes.map((process) => process.stop()))));
  }
}
