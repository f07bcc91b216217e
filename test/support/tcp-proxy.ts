import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/**
 * A TCP proxy in front of a server. It can close connections, reject new ones, or keep them open and transfer nothing.
 */
export class TcpProxy {
  /** Called with everything that is sent to the server, before the proxy forwards it. */
  onRequest: (text: string) => void = () => {};
  /** How many connections the proxy has accepted so far. */
  accepted = 0;
  private server: Server | undefined;
  private readonly pairs = new Set<readonly [near: Socket, far: Socket]>();
  private isFrozen = false;

  /** @param port 0 for a free one */
  constructor(
    private target: { readonly host: string; readonly port: number },
    private port = 0,
  ) {}

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** How many connections are open. */
  get connections(): number {
    return this.pairs.size;
  }

  /** Starts to listen. The port is the previous one if the proxy was open before. */
  async open(): Promise<void> {
    this.server = createServer((near) => {
      this.accepted += 1;
      const far = connect(this.target);
      const pair = [near, far] as const;
      this.pairs.add(pair);
      const end = (): void => {
        this.pairs.delete(pair);
        near.destroy();
        far.destroy();
      };
      for (const socket of pair) socket.setNoDelay(true).on('error', end).on('close', end);
      near.on('data', (chunk: Buffer) => this.onRequest(chunk.toString('latin1')));
      if (this.isFrozen) near.pause();
      else near.pipe(far).pipe(near);
    }).listen(this.port, '127.0.0.1');
    await once(this.server, 'listening');
    this.port = (this.server.address() as AddressInfo).port;
  }

  /**
   * Behaves like a server stopped with SIGSTOP: accepts connections, but transfers nothing until `unfreeze` is called.
   */
  freeze(): void {
    this.isFrozen = true;
    for (const socket of [...this.pairs].flat()) socket.unpipe().pause();
  }

  unfreeze(): void {
    this.isFrozen = false;
    for (const [near, far] of this.pairs) near.pipe(far).pipe(near);
  }

  /** Closes all connections, and still accepts new ones. */
  dropConnections(): void {
    for (const socket of [...this.pairs].flat()) socket.destroy();
  }

  /** Forwards new connections to another server and closes the others, like an address that follows the primary. */
  redirectTo(target: { readonly host: string; readonly port: number }): void {
    this.target = target;
    this.dropConnections();
  }

  /** Closes all connections and stops listening. */
  async close(): Promise<void> {
    const { server } = this;
    this.server = undefined;
    this.dropConnections();
    this.isFrozen = false;
    if (server !== undefined) await new Promise((resolve) => server.close(resolve));
  }
}

/** Starts a proxy in front of a database. @returns the proxy, and the URL of the database through the proxy */
export const startProxy = async (databaseUrl: string): Promise<{ proxy: TcpProxy; url: string }> => {
  const url = new URL(databaseUrl);
  const proxy = new TcpProxy({ host: url.hostname, port: Number(url.port || 5432) });
  await proxy.open();
  url.host = proxy.address;
  return { proxy, url: url.href };
};
