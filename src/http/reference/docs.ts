import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { FastifyInstance } from 'fastify';
import { type KeptAnswer, keepAnswer, onceMade, sendKept } from './kept-answer.js';
import { pageHeaders } from './page-headers.js';

/** Own files only, no inline script, no framing. Swagger UI sets styles and draws icons from `data:`. */
const HEADERS = pageHeaders(
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

const page = (folder: string): string => `<!doctype html>
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
  <div id="swagger-ui"></div>
  <script src="${folder}/swagger-ui-bundle.js"></script>
  <script src="${folder}/start.js"></script>
</body>
</html>
`;

/** A file of its own, because the page may have no inline script. Its URLs also work under a proxy's path. */
const START = `SwaggerUIBundle({
  url: new URL('../openapi.json', document.currentScript.src).href,
  dom_id: '#swagger-ui',
  deepLinking: true,
  tryItOutEnabled: true,
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
const FILES: Readonly<Record<string, () => Promise<KeptAnswer>>> = {
  '/docs': () => keepAnswer(HTML, page('docs')),
  '/docs/': () => keepAnswer(HTML, page('.')),
  '/docs/start.js': () => keepAnswer(SCRIPT, START),
  '/docs/index.css': async () => keepAnswer(STYLE, await swaggerUi('index.css')),
  '/docs/swagger-ui.css': async () => keepAnswer(STYLE, await swaggerUi('swagger-ui.css')),
  '/docs/swagger-ui-bundle.js': async () => keepAnswer(SCRIPT, await swaggerUi('swagger-ui-bundle.js')),
};

/**
 * The reference for people. Served from memory: a file stream would keep its descriptor open for a client that never
 * reads.
 */
export const serveDocs = (instance: FastifyInstance): void => {
  for (const [path, make] of Object.entries(FILES)) {
    const kept = onceMade(make);
    instance.get(path, async (request, reply) => {
      const file = await kept();
      return sendKept(file, request, reply.headers(HEADERS));
    });
  }
};
