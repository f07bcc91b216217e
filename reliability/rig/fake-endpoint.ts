import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { ask } from './ask.js';
import type { Scene } from './scene.js';

/** An endpoint that answers before the append: what the service would be without its promise. @returns its URL */
export const startFakeEndpoint = async (scene: Scene, target: () => string): Promise<string> => {
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
        .then(() => ask(`${target()}${request.url}`, { key, type, body }))
        .catch(() => {});
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  scene.later(async () => server.close());
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
};
