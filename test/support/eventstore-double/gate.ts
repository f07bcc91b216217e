import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A TCP gate before a server on loopback, which can be slammed, or stay open and pass nothing on. */
export class Gate {
  private server: Server | undefined;
  private readonly pairs = new Set<readonly [Socket, Socket]>();
  private isSilent = false;

  /** @param port 0 for a free one */
  constructor(
    private readonly target: number,
    private port = 0,
  ) {}

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** How many connections are open. */
  get connections(): number {
    return this.pairs.size;
  }

  /** Opens, on the same port as before where it was open before. */
  async open(): Promise<void> {
    const server = createServer((near) => {
      const far = connect(this.target, '127.0.0.1');
      const pair = [near, far] as const;
      this.pairs.add(pair);
      for (const [one, other] of [pair, [far, near] as const]) {
        one.setNoDelay(true);
        one.on('data', (bytes) => {
          if (!other.write(bytes)) one.pause();
        });
        other.on('drain', () => {
          if (!this.isSilent) one.resume();
        });
        one.on('error', () => other.destroy());
        one.on('close', () => {
          other.destroy();
          this.pairs.delete(pair);
        });
        if (this.isSilent) one.pause();
      }
    });
    server.listen(this.port, '127.0.0.1');
    await once(server, 'listening');
    this.port = (server.address() as AddressInfo).port;
    this.server = server;
  }

  /** As a server that was stopped with SIGSTOP: connections are taken, nothing is ever said. */
  silence(): void {
    this.isSilent = true;
    for (const socket of [...this.pairs].flat()) socket.pause();
  }

  speak(): void {
    this.isSilent = false;
    for (const socket of [...this.pairs].flat()) socket.resume();
  }

  /** Cuts what is connected; new connections are taken. */
  drop(): void {
    for (const socket of [...this.pairs].flat()) socket.destroy();
  }

  /** Cuts what is connected, and refuses new connections. */
  async close(): Promise<void> {
    const server = this.server;
    this.server = undefined;
    this.drop();
    this.isSilent = false;
    if (server !== undefined) await new Promise((resolve) => server.close(resolve));
  }
}
