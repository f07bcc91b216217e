/**
 * The thread of `hostile-webhooks.ts`. It runs webhook receivers that misbehave. The path of the URL selects the
 * behaviour.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { constants, setPriority } from 'node:os';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';

/** The target of redirects. */
const { elsewhere } = workerData as { elsewhere: string };
const TIMEOUT_MS = 20_000;
const MiB = 1024 * 1024;
const PIECE = Buffer.alloc(64 * 1024, 'x');

const large = (status: number) => (_: IncomingMessage, response: ServerResponse) => {
  response.writeHead(status, { 'content-type': 'text/plain', 'content-length': 64 * MiB });
  Readable.from(Array.from({ length: (64 * MiB) / PIECE.length }, () => PIECE)).pipe(response);
};

/** Sends one byte per second. */
const drip = (response: ServerResponse, bytes: string): void => {
  let sent = 0;
  const timer = setInterval(() => response.socket?.write(bytes[sent++ % bytes.length]!), 1_000);
  response.on('close', () => clearInterval(timer));
};

const BEHAVIOURS: Readonly<Record<string, (request: IncomingMessage, response: ServerResponse) => void>> = {
  hang: () => {},
  'drip-head': (_, response) => drip(response, 'HTTP/1.1 200 OK\r\nx-drip: '.padEnd(60, 'x')),
  'drip-body': (_, response) => {
    response.writeHead(200, { 'content-length': 100 }).flushHeaders();
    drip(response, 'x');
  },
  'slow-success': (_, response) => void setTimeout(() => response.end(), 14_000),
  large: large(200),
  'large-error': large(500),
  reset: (request) => request.socket.resetAndDestroy(),
  'close-early': (request) => request.socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort'),
  redirect: (_, response) => response.writeHead(307, { location: elsewhere }).end(),
  'error-for-ever': (_, response) => response.writeHead(500).end('no'),
};

// This thread has the lowest priority, because real attackers would not use the CPU of the service.
setPriority(0, constants.priority.PRIORITY_LOW);
const requestsByBehaviour: Record<string, number> = {};
const server = createServer((request, response) => {
  const behaviour = request.url!.slice(1);
  requestsByBehaviour[behaviour] = (requestsByBehaviour[behaviour] ?? 0) + 1;
  response.on('error', () => {});
  request.on('error', () => {}).resume();
  BEHAVIOURS[behaviour]!(request, response);
}).listen(0, '127.0.0.1', () => {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  parentPort!.postMessage({ url, behaviours: Object.keys(BEHAVIOURS) });
});
parentPort!.once('message', async () => {
  // Waits until there was a request for each behaviour.
  for (const until = Date.now() + TIMEOUT_MS; Date.now() < until; await sleep(20))
    if (Object.keys(BEHAVIOURS).every((behaviour) => behaviour in requestsByBehaviour)) break;
  server.close();
  server.closeAllConnections();
  parentPort!.postMessage(requestsByBehaviour);
});
