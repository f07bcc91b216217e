import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Bench } from './goal.js';

/** A webhook receiver that accepts all deliveries immediately, and counts requests and records. */
export class WebhookReceiver {
  requests = 0;
  records = 0;
  url = '';
  /** Called with the body of each delivery. */
  onDelivery: (body: Buffer) => void = () => {};

  static async start(bench: Bench): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver();
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks);
        receiver.requests += 1;
        for (let at = 0; (at = body.indexOf('"specversion"', at) + 1) > 0;) receiver.records += 1;
        receiver.onDelivery(body);
        response.writeHead(204).end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    bench.onEnd(async () => {
      server.closeAllConnections();
      server.close();
    });
    return receiver;
  }
}
