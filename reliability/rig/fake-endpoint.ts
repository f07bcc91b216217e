import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { sendRequest } from './http-request.js';
import type { RunContext } from './run-context.js';

/** Starts a naive endpoint that responds before it forwards the events. @returns its URL */
export const startFakeEndpoint = async (context: RunContext, target: () => string): Promise<string> => {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8');
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ accepted: JSON.parse(body).length, duplicates: 0, rejected: [] }));
      const key = String(request.headers['x-api-key']);
      const type = request.headers['content-type']!;
      void sleep(20)
        .then(() => sendRequest(`${target()}${request.url}`, { key, type, body }))
        .catch(() => {});
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.onEnd(async () => server.close());
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
};
