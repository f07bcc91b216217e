import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { serveDocs } from './docs.js';
import { createDocument } from './document.js';
import { createStaticResponse, memoizeAsync, sendStaticResponse } from './static-response.js';

/** Serves the reference from memory: `/openapi.json`, and `/docs` for people. */
export const serveOpenApi = (app: NestFastifyApplication): void => {
  const document = memoizeAsync(async () =>
    createStaticResponse('application/json; charset=utf-8', JSON.stringify(createDocument(app))),
  );
  const instance = app.getHttpAdapter().getInstance();
  instance.get('/openapi.json', async (request, reply) => sendStaticResponse(await document(), request, reply));
  serveDocs(instance);
};
