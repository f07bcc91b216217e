import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Behaviour = (request: IncomingMessage, response: ServerResponse) => void;

/** An HTTP server on loopback whose behaviour a spec sets. It counts connections and records requests. */
export class ListServer {
  behave: Behaviour = (_, response) => response.end();
  /** Number of accepted connections. */
  connections = 0;
  readonly requests: { path: string; headers: IncomingMessage['headers'] }[] = [];
  private readonly server = createServer((request, response) => {
    this.requests.push({ path: request.url!, headers: request.headers });
    response.on('error', () => undefined);
    this.behave(request, response);
  });

  /** @param port 0 selects a free port */
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

/** Responds with 200 and the body. */
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
