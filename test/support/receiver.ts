import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Handles a received request. The reaction must end `response`. */
export type Reaction = (received: Received, response: ServerResponse, request: IncomingMessage) => void;

export const answering =
  (status: number, headers: Record<string, string> = {}, body = ''): Reaction =>
  (_, response) =>
    void response.writeHead(status, headers).end(body);

/** A webhook receiver on loopback that records its requests. */
export class Receiver {
  readonly received: Received[] = [];
  connections = 0;
  react: Reaction = answering(204);
  private readonly server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    response.on('error', () => {});
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const one = { path: request.url!, headers: request.headers, body: Buffer.concat(chunks).toString() };
      this.received.push(one);
      this.react(one, response, request);
    });
  });

  async start(host = '127.0.0.1'): Promise<string> {
    this.server.on('connection', () => (this.connections += 1));
    await new Promise<void>((resolve) => this.server.listen(0, host, resolve));
    return `http://${host}:${this.port}`;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** The subjects of the received events, in order. */
  get subjects(): string[] {
    return this.received.flatMap(({ body }) => subjectsIn(body));
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

export const subjectsIn = (body: string): string[] =>
  [JSON.parse(body) as { subject: string } | { subject: string }[]].flat().map(({ subject }) => subject);
