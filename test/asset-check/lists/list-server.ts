import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Behaviour = (request: IncomingMessage, response: ServerResponse) => void;

/** A server on loopback that does with each request what a spec tells it to, and counts what reaches it. */
export class ListServer {
  behave: Behaviour = (_, response) => response.end();
  /** Connections accepted, requests or not. */
  connections = 0;
  readonly requests: { path: string; headers: IncomingMessage['headers'] }[] = [];
  private readonly server = createServer((request, response) => {
    this.requests.push({ path: request.url!, headers: request.headers });
    response.on('error', () => undefined);
    this.behave(request, response);
  });

  /** @param port 0 takes a free one */
  async start(host = '127.0.0.1', port = 0): Promise<string> {
    this.server.on('connection', () => (this.connections += 1));
    await new Promise<void>((resolve) => this.server.listen(port, host, resolve));
    return `http://${host}:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** Sends a body as a list is sent. */
export const sends =
  (body: string | Buffer, headers: Record<string, string> = {}): Behaviour =>
  (_, response) => {
    response.writeHead(200, { 'content-type': 'text/plain', ...headers });
    response.end(body);
  };

export const answers =
  (status: number, headers: Record<string, string> = {}, body = ''): Behaviour =>
  (_, response) => {
    response.writeHead(status, headers);
    response.end(body);
  };
