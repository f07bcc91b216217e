import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, extname, join, relative, sep } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { preferredType } from '../http/responses/accept.js';
import { singleFlight } from '../flow/shared-work.js';
import { routeNotFound, sendError } from '../http/errors/error-response.js';
import {
  type StaticResponse,
  createStaticResponse,
  sendStaticResponse,
  pageHeaders,
} from '../http/reference/static-response.js';

const FOLDER = join(import.meta.dirname, 'page');
const PAGE = 'index.html';

/**
 * The page can load only files of this service. The page cannot turn text into markup, be shown in a frame, or submit
 * forms.
 */
const HEADERS = pageHeaders(
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
);
/** The URL of a file contains the version, so a browser that has the file does not request the file again. */
const IMMUTABLE = 'public, max-age=31536000, immutable';

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const readStaticFile = async (path: string): Promise<StaticResponse> =>
  createStaticResponse(TYPES[extname(path)]!, await readFile(path));

/** Returns the path of the browser build of Chart.js, which is next to the file that the package exports. */
const chartJs = (): string => join(dirname(createRequire(import.meta.url).resolve('chart.js')), 'chart.umd.min.js');

interface Dashboard {
  readonly page: StaticResponse;
  /** A hash of the files, which is part of the URL of each file. */
  readonly version: string;
  readonly files: ReadonlyMap<string, StaticResponse>;
}

/** Reads the page and its files. Links in the page are relative, so that the page also works under a proxy's path. */
const readDashboard = async (): Promise<Dashboard> => {
  const names = (await readdir(FOLDER, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && entry.name !== PAGE)
    .map(({ parentPath, name }) => relative(FOLDER, join(parentPath, name)).replaceAll(sep, '/'))
    .sort();
  const paths = [['chart.js', chartJs()] as const, ...names.map((name) => [name, join(FOLDER, name)] as const)];
  const files = new Map(
    await Promise.all(paths.map(async ([name, path]) => [name, await readStaticFile(path)] as const)),
  );
  const version = createHash('sha256')
    .update([...files.values()].map(({ tag }) => tag).join())
    .digest('hex')
    .slice(0, 16);
  const page = await readFile(join(FOLDER, PAGE), 'utf8');
  return {
    page: await createStaticResponse(TYPES['.html']!, page.replaceAll('"./', `"dashboard/${version}/`)),
    version,
    files,
  };
};

/**
 * Serves the dashboard of an organization at `GET /dashboard`, to which `GET /` redirects a browser. The page contains
 * no data; its scripts call the API with the key that the user enters.
 */
export const serveDashboard = (instance: FastifyInstance): void => {
  const dashboard = singleFlight(readDashboard, Infinity);
  instance.get('/dashboard', async (request, reply) => {
    const { page } = await dashboard();
    return sendStaticResponse(page, request, reply.headers(HEADERS));
  });
  // Every method has this route, so that the other methods get the 404 of an unknown path instead of a 405.
  instance.all('/', (request, reply) => {
    void reply.header('vary', 'X-API-KEY, Accept');
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (isRead && preferredType(request.headers.accept, ['application/json', 'text/html']) === 'text/html')
      return reply.redirect('dashboard', 302);
    sendError(routeNotFound(), request, reply);
    return reply;
  });
  instance.get('/dashboard/', (_request, reply) => reply.redirect('../dashboard', 308));
  instance.get<{ Params: { version: string; '*': string } }>('/dashboard/:version/*', async (request, reply) => {
    const { version, files } = await dashboard();
    const file = files.get(request.params['*']);
    if (file === undefined) {
      sendError(routeNotFound(), request, reply);
      return reply;
    }
    // During a rolling upgrade, a page may request its files from an instance of another version.
    const caching = request.params.version === version ? IMMUTABLE : undefined;
    return sendStaticResponse(file, request, reply.headers(HEADERS), caching);
  });
};
