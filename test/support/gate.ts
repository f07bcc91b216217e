import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A TCP gate before a server, which can be slammed, or stay open and pass nothing on. */
export class Gate {
  /** Told of everything that is sent to the server, before it is passed on. */
  onRequest: (text: string) => void = () => {};
  /** Connections that have come so far. */
  taken = 0;
  private server: Server | undefined;
  private readonly pairs = new Set<readonly [near: Socket, far: Socket]>();
  private isSilent = false;

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

  /** Opens, on the same port as before where it was open before. */
  async open(): Promise<void> {
    this.server = createServer((near) => {
      this.taken += 1;
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
      if (this.isSilent) near.pause();
      else near.pipe(far).pipe(near);
    }).listen(this.port, '127.0.0.1');
    await once(this.server, 'listening');
    this.port = (this.server.address() as AddressInfo).port;
  }

  /** As a server that was stopped with SIGSTOP: connections are taken, nothing is ever said. */
  silence(): void {
    this.isSilent = true;
    for (const socket of [...this.pairs].flat()) socket.unpipe().pause();
  }

  speak(): void {
    this.isSilent = false;
    for (const [near, far] of this.pairs) near.pipe(far).pipe(near);
  }

  /** Cuts what is connected; new connections are taken. */
  drop(): void {
    for (const socket of [...this.pairs].flat()) socket.destroy();
  }

  /** Leads new connections to another server, and cuts those to the one before, as the address of a primary does. */
  leadTo(target: { readonly host: string; readonly port: number }): void {
    this.target = target;
    this.drop();
  }

  /** Cuts what is connected, and refuses new connections. */
  async close(): Promise<void> {
    const { server } = this;
    this.server = undefined;
    this.drop();
    this.isSilent = false;
    if (server !== undefined) await new Promise((resolve) => server.close(resolve));
  }
}

/** A gate before a database. @returns the database's URL through it too */
export const gateBefore = async (databaseUrl: string): Promise<{ gate: Gate; url: string }> => {
  const url = new URL(databaseUrl);
  const gate = new Gate({ host: url.hostname, port: Number(url.port || 5432) });
  await gate.open();
  url.host = gate.address;
  return { gate, url: url.href };
};
