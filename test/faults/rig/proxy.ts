import { connect, createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { directTo } from '../../support/direct.js';
import type { Scene } from './scene.js';

/** Stands between the service and its database, past a pooler that the run may be behind. */
export class Proxy {
  private readonly pairs = new Set<readonly [Socket, Socket]>();
  /** Told of everything that is sent to the database, before it is passed on. */
  onRequest: (text: string) => void = () => {};
  private mode: 'forward' | 'silence' | 'refuse' = 'forward';

  private constructor(
    server: Server,
    private readonly target: { readonly host: string; readonly port: number },
  ) {
    server.on('connection', (near) => this.join(near));
  }

  static async start(scene: Scene, databaseUrl: string): Promise<{ proxy: Proxy; url: string }> {
    const url = new URL(directTo(databaseUrl).DATABASE_DIRECT_URL ?? databaseUrl);
    const server = createServer();
    const proxy = new Proxy(server, { host: url.hostname, port: Number(url.port || 5432) });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    scene.later(async () => {
      proxy.drop();
      server.close();
    });
    const address = server.address();
    url.hostname = '127.0.0.1';
    url.port = String(typeof address === 'object' ? address?.port : '');
    return { proxy, url: url.href };
  }

  /** Connections stay open and new ones are taken, but nothing moves in either direction. */
  silence(): void {
    this.mode = 'silence';
    for (const pair of this.pairs) for (const socket of pair) socket.pause();
  }

  forward(): void {
    this.mode = 'forward';
    for (const pair of this.pairs) for (const socket of pair) socket.resume();
  }

  /** Cuts every connection, in the middle of whatever it carries. */
  drop(): void {
    for (const pair of this.pairs) for (const socket of pair) socket.resetAndDestroy();
  }

  refuse(): void {
    this.mode = 'refuse';
    this.drop();
  }

  private join(near: Socket): void {
    if (this.mode === 'refuse') return void near.resetAndDestroy();
    const far = connect(this.target);
    const pair = [near, far] as const;
    this.pairs.add(pair);
    const end = (): void => {
      this.pairs.delete(pair);
      near.destroy();
      far.destroy();
    };
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.setNoDelay(true);
      from.on('error', end).on('close', end);
      from.on('data', (chunk) => {
        if (from === near) this.onRequest(chunk.toString('latin1'));
        if (to.destroyed) return;
        if (!to.write(chunk)) {
          from.pause();
          to.once('drain', () => this.mode === 'forward' && from.resume());
        }
      });
    }
    if (this.mode === 'silence') for (const socket of pair) socket.pause();
  }
}
