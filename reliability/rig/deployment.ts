import { setTimeout as sleep } from 'node:timers/promises';
import { ask } from './ask.js';
import type { Balancer } from './balancer.js';
import { type Environment, Process } from './processes.js';
import type { Scene } from './scene.js';

/** How long a process may take until it is ready, on a machine that starts several. ms */
const READY_WITHIN_MS = 60_000;
/** How long a graceful shutdown may take. ms */
const STOPS_WITHIN_MS = 10_000;

interface Kind {
  readonly program: 'src/main' | 'projections/main' | 'src/deliver';
  readonly replicas: number;
  readonly env: Environment;
  readonly preload?: string | undefined;
}

/**
 * Processes of one program, replaced as a Deployment of Kubernetes does it with `maxSurge: 1` and `maxUnavailable: 0`:
 * one is started, and once it is ready the oldest is asked to stop.
 */
export class Deployment {
  /** How long each stop took, ms. */
  readonly stops: number[] = [];
  readonly findings: string[] = [];
  private running: Process[] = [];

  constructor(
    private readonly scene: Scene,
    private readonly kind: Kind,
    /** Follows those that have an address of their own. */
    private readonly balancer?: Balancer,
  ) {}

  get processes(): readonly Process[] {
    return this.running;
  }

  /** Replaces all by this version, or starts the first ones. @throws Error where one does not become ready */
  async roll(installed: string): Promise<void> {
    const { program, replicas, env, preload } = this.kind;
    for (let n = 0; n < replicas; n += 1) {
      const added = Process.start(this.scene, program, env, { preload, installed });
      void this.balancer?.follow(added);
      await this.ready(added);
      this.running.push(added);
      if (this.running.length > replicas) await this.end(this.running.shift()!);
    }
  }

  private async ready(process: Process): Promise<void> {
    for (const until = Date.now() + READY_WITHIN_MS; !(await this.isReady(process)); await sleep(50))
      if (!process.isRunning || Date.now() > until)
        throw new Error(`${process.program} did not become ready: ${process.lines.slice(-5).join('\n')}`);
  }

  private async isReady(process: Process): Promise<boolean> {
    if (this.balancer !== undefined) return this.balancer.has(process);
    if (process.opsUrl === undefined) return false;
    const { status } = await ask(`${process.opsUrl}/health/ready`, { timeoutMs: 3_000 }).catch(() => ({ status: 0 }));
    return status === 200;
  }

  private async end(process: Process): Promise<void> {
    // A cluster may tell its balancers before the process, or leave it to them to find out.
    if (this.stops.length % 2 === 1) this.balancer?.takeOut(process);
    const took = await process.stop();
    this.stops.push(took);
    if (took > STOPS_WITHIN_MS) this.findings.push(`${process.program} took ${took} ms to stop`);
    if ((process.exitCode ?? 0) !== 0) this.findings.push(`${process.program} ended with ${process.exitCode}`);
  }
}
