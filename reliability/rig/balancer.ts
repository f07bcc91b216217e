import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { sendRequest } from './http-request.js';
import type { Process } from './processes.js';
import type { RunContext } from './run-context.js';

/** The interval of the readiness checks of each process. */
const CHECK_EVERY_MS = 100;

/**
 * A connection balancer like a Kubernetes Service. It assigns each new connection to a ready process and keeps it there
 * until it is closed. It does not retry: a connection that no process accepts is reset.
 */
export class Balancer {
  /** The number of accepted connections. */
  connections = 0;
  private readonly inRotation = new Set<Process>();
  private readonly takenOut = new WeakSet<Process>();
  private readonly open = new Set<Socket>();
  private readonly stopping = new AbortController();
  private readonly server = createServer((client) => this.forward(client));

  static async start(context: RunContext): Promise<Balancer> {
    const balancer = new Balancer();
    balancer.server.listen(0, '127.0.0.1');
    await once(balancer.server, 'listening');
    context.onEnd(() => balancer.stop());
    return balancer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Keeps the process in rotation whenever it is ready, until it ends. */
  async follow(process: Process): Promise<void> {
    while (process.isRunning && !this.stopping.signal.aborted) {
      const isReady = await sendRequest(`${process.url ?? 'http://127.0.0.1:1'}/health/ready`, {
        timeoutMs: 2_000,
      }).then(
        ({ status }) => status === 200,
        () => false,
      );
      if (isReady && !this.takenOut.has(process)) this.inRotation.add(process);
      else this.inRotation.delete(process);
      await sleep(CHECK_EVERY_MS);
    }
    this.inRotation.delete(process);
  }

  has(process: Process): boolean {
    return this.inRotation.has(process);
  }

  /** Assigns no new connections to the process, even if it is ready. */
  takeOut(process: Process): void {
    this.takenOut.add(process);
    this.inRotation.delete(process);
  }

  private forward(client: Socket): void {
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
