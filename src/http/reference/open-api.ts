import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { serveDocs } from './docs.js';
import { createDocument } from './document.js';
import { keepAnswer, onceMade, sendKept } from './kept-answer.js';

/** Serves the reference from memory: `/openapi.json`, and `/docs` for people. */
export const serveOpenApi = (app: NestFastifyApplication): void => {
  const document = onceMade(async () =>
    keepAnswer('application/json; charset=utf-8', JSON.stringify(createDocument(app))),
  );
  const instance = app.getHttpAdapter().getInstance();
  instance.get('/openapi.json', async (request, reply) => sendKept(await document(), request, reply));
  serveDocs(instance);
};
