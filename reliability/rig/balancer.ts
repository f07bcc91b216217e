import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { ask } from './ask.js';
import type { Process } from './processes.js';
import type { Scene } from './scene.js';

/** How often each process is asked whether it is ready. ms */
const LOOKS_EVERY_MS = 100;

/**
 * A balancer of connections, as a Service of Kubernetes is one: a new one is led to a process in rotation, and stays with
 * it to its end. It makes nothing good: a connection that no process takes is reset.
 */
export class Balancer {
  /** How many connections it has led. */
  connections = 0;
  private readonly inRotation = new Set<Process>();
  private readonly takenOut = new WeakSet<Process>();
  private readonly open = new Set<Socket>();
  private readonly stopping = new AbortController();
  private readonly server = createServer((client) => this.lead(client));

  static async start(scene: Scene): Promise<Balancer> {
    const balancer = new Balancer();
    balancer.server.listen(0, '127.0.0.1');
    await once(balancer.server, 'listening');
    scene.later(() => balancer.stop());
    return balancer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** From now on the process is in rotation whenever it is ready. */
  async follow(process: Process): Promise<void> {
    while (process.isRunning && !this.stopping.signal.aborted) {
      const isReady = await ask(`${process.url ?? 'http://127.0.0.1:1'}/health/ready`, { timeoutMs: 2_000 }).then(
        ({ status }) => status === 200,
        () => false,
      );
      if (isReady && !this.takenOut.has(process)) this.inRotation.add(process);
      else this.inRotation.delete(process);
      await sleep(LOOKS_EVERY_MS);
    }
    this.inRotation.delete(process);
  }

  has(process: Process): boolean {
    return this.inRotation.has(process);
  }

  /** Leads nothing new to it, ready or not. */
  takeOut(process: Process): void {
    this.takenOut.add(process);
    this.inRotation.delete(process);
  }

  private lead(client: Socket): void {
    const processes = [...this.inRotation];
    const process = processes[this.connections++ % processes.length];
    if (process === undefined) return void client.resetAndDestroy();
    const server = connect(Number(new URL(process.url!).port), '127.0.0.1');
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.open.add(one);
      one.setNoDelay(true);
      one.on('close', () => this.open.delete(one));
      one.on('error', () => other.resetAndDestroy());
      one.pipe(other);
    }
  }

  private async stop(): Promise<void> {
    this.stopping.abort();
    for (const socket of this.open) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }
}
