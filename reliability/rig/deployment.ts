import { setTimeout as sleep } from 'node:timers/promises';
import { sendRequest } from './http-request.js';
import type { Balancer } from './balancer.js';
import { type Environment, Process } from './processes.js';
import type { RunContext } from './run-context.js';

/** How long a process may take to become ready. */
const READY_TIMEOUT_MS = 60_000;
/** How long a graceful shutdown may take. */
const MAX_STOP_MS = 10_000;

interface Kind {
  readonly program: 'src/main' | 'projections/main' | 'src/deliver';
  readonly replicas: number;
  readonly env: Environment;
  readonly preload?: string | undefined;
}

/**
 * Processes of one program that are replaced like a Kubernetes Deployment with `maxSurge: 1` and `maxUnavailable: 0`: a
 * new process is started, and once it is ready, the oldest one gets SIGTERM.
 */
export class Deployment {
  /** The duration of each stop, in ms. */
  readonly stops: number[] = [];
  readonly findings: string[] = [];
  private running: Process[] = [];

  constructor(
    private readonly context: RunContext,
    private readonly kind: Kind,
    /** Balances the connections of the API processes. */
    private readonly balancer?: Balancer,
  ) {}

  get processes(): readonly Process[] {
    return this.running;
  }

  /**
   * Replaces all processes one by one with this version, or starts the first processes.
   * @param installed the folder of the built programs
   * @throws Error if a process does not become ready
   */
  async roll(installed: string): Promise<void> {
    const { program, replicas, env, preload } = this.kind;
    for (let n = 0; n < replicas; n += 1) {
      const added = Process.start(this.context, program, env, { preload, installed });
      void this.balancer?.follow(added);
      await this.ready(added);
      this.running.push(added);
      if (this.running.length > replicas) await this.end(this.running.shift()!);
    }
  }

  private async ready(process: Process): Promise<void> {
    for (const until = Date.now() + READY_TIMEOUT_MS; !(await this.isReady(process)); await sleep(50))
      if (!process.isRunning || Date.now() > until)
        throw new Error(`${process.program} did not become ready: ${process.lines.slice(-5).join('\n')}`);
  }

  private async isReady(process: Process): Promise<boolean> {
    if (this.balancer !== undefined) return this.balancer.has(process);
    if (process.opsUrl === undefined) return false;
    const { status } = await sendRequest(`${process.opsUrl}/health/ready`, { timeoutMs: 3_000 }).catch(() => ({
      status: 0,
    }));
    return status === 200;
  }

  private async end(process: Process): Promise<void> {
    // A cluster may remove a process from its balancers before SIGTERM, or only after its readiness check fails.
    if (this.stops.length % 2 === 1) this.balancer?.takeOut(process);
    const stopMs = await process.stop();
    this.stops.push(stopMs);
    if (stopMs > MAX_STOP_MS) this.findings.push(`${process.program} took ${stopMs} ms to stop`);
    if ((process.exitCode ?? 0) !== 0) this.findings.push(`${process.program} ended with ${process.exitCode}`);
  }
}
