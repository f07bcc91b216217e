import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { FastifyInstance } from 'fastify';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { type StaticResponse, createStaticResponse, sendStaticResponse, pageHeaders } from './static-response.js';
import { singleFlight } from '../../flow/shared-work.js';
import { createDocument } from './document.js';

/**
 * The page loads only files of this service, has no inline script and cannot be framed. Swagger UI sets styles and
 * draws icons from `data:`.
 */
const HEADERS = pageHeaders(
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/** Wide tables scroll, so that the page is never wider than a phone. */
const NARROW = `
.swagger-ui .info table { display: block; overflow-x: auto; overflow-wrap: anywhere }
.swagger-ui .info table td { min-width: 3rem }
nav { padding: 1rem 20px 0; font: 1rem sans-serif }
.swagger-ui .responses-inner { overflow-x: auto }
`;

/** @param folder the path of the page's files @param root the path of the service */
const page = (folder: string, root: string): string => `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>Threat protection</title>
  <link rel="icon" href="data:,">
  <link rel="stylesheet" href="${folder}/swagger-ui.css">
  <link rel="stylesheet" href="${folder}/index.css">
</head>
<body>
  <nav aria-label="Pages"><a href="${root}dashboard">Dashboard</a></nav>
  <div id="swagger-ui"></div>
  <script src="${folder}/swagger-ui-bundle.js"></script>
  <script src="${folder}/start.js"></script>
</body>
</html>
`;

/**
 * A separate file, because the page may have no inline script. The URLs in the script also work if a proxy adds a path
 * prefix.
 */
const START = `SwaggerUIBundle({
  url: new URL('../openapi.json', document.currentScript.src).href,
  dom_id: '#swagger-ui',
  deepLinking: true,
  tryItOutEnabled: true,
  // People paste the whole header line that a guide or the demo names.
  requestInterceptor: (request) => {
    const key = request.headers?.['X-API-KEY'];
    if (key !== undefined) request.headers['X-API-KEY'] = key.trim().replace(/^x-api-key:\\s*/i, '');
    return request;
  },
});
`;

const HTML = 'text/html; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';
const STYLE = 'text/css; charset=utf-8';

/** Swagger UI is a dependency of `@nestjs/swagger`, wherever npm installed it. */
const swaggerUi = (file: string): Promise<Buffer> => {
  const { resolve } = createRequire(createRequire(import.meta.url).resolve('@nestjs/swagger'));
  return readFile(resolve(`swagger-ui-dist/${file}`));
};

/** The files under `/docs`. */
const FILES: Readonly<Record<string, () => Promise<StaticResponse>>> = {
  '/docs': () => createStaticResponse(HTML, page('docs', './')),
  '/docs/': () => createStaticResponse(HTML, page('.', '../')),
  '/docs/start.js': () => createStaticResponse(SCRIPT, START),
  '/docs/index.css': async () => createStaticResponse(STYLE, `${(await swaggerUi('index.css')).toString()}${NARROW}`),
  '/docs/swagger-ui.css': async () => createStaticResponse(STYLE, await swaggerUi('swagger-ui.css')),
  '/docs/swagger-ui-bundle.js': async () => createStaticResponse(SCRIPT, await swaggerUi('swagger-ui-bundle.js')),
};

/**
 * Serves Swagger UI at `/docs`, from memory: a file stream would keep its descriptor open as long as a client does not
 * read.
 */
const serveDocs = (instance: FastifyInstance): void => {
  for (const [path, create] of Object.entries(FILES)) {
    const response = singleFlight(create, Infinity);
    instance.get(path, async (request, reply) => {
      return sendStaticResponse(await response(), request, reply.headers(HEADERS));
    });
  }
};

/** Serves the reference from memory: `/openapi.json`, and `/docs` for people. */
export const serveOpenApi = (app: NestFastifyApplication): void => {
  const document = singleFlight(
    async () => createStaticResponse('application/json; charset=utf-8', JSON.stringify(createDocument(app))),
    Infinity,
  );
  const instance = app.getHttpAdapter().getInstance();
  instance.get('/openapi.json', async (request, reply) => sendStaticResponse(await document(), request, reply));
  serveDocs(instance);
};
