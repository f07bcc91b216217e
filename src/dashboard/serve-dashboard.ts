import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { type KeptAnswer, keepAnswer, onceMade, sendKept } from '../http/reference/kept-answer.js';

const FOLDER = join(import.meta.dirname, 'page');

/** Nothing but our own files, nothing written into the page as markup, in no frame, and no form is ever sent. */
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
};

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** What the page loads, beside Chart.js. */
const FILES = [
  'api.js',
  'brands.js',
  'chart-drawing.js',
  'check.js',
  'csv.js',
  'failure.js',
  'figures.js',
  'groups.js',
  'icon.svg',
  'key.js',
  'layout.css',
  'live.js',
  'main.js',
  'organization.js',
  'over-time.js',
  'parts.css',
  'problem.js',
  'question.js',
  'range.js',
  'table.js',
  'takedowns.js',
  'timeline.js',
  'totals.js',
  'types.js',
  'words.js',
];

const keepFile = async (name: string): Promise<KeptAnswer> =>
  keepAnswer(TYPES[extname(name)]!, await readFile(join(FOLDER, name)));

/** As Chart.js ships it for a browser; its package exports the directory only by another file in it. */
const keepChartJs = async (): Promise<KeptAnswer> => {
  const folder = dirname(createRequire(import.meta.url).resolve('chart.js'));
  return keepAnswer(TYPES['.js']!, await readFile(join(folder, 'chart.umd.min.js')));
};

/** With a slash at its end the page's folder is where it is itself. */
const keepPage = async (folder: string): Promise<KeptAnswer> => {
  const page = await readFile(join(FOLDER, 'index.html'), 'utf8');
  return keepAnswer(
    TYPES['.html']!,
    page.replaceAll('"dashboard/', `"${folder}`).replaceAll('"docs"', folder === '' ? '"../docs"' : '"docs"'),
  );
};

/** `GET /dashboard`: a page of the organization's figures. It holds none; its scripts ask the API with the reader's key. */
export const serveDashboard = (instance: FastifyInstance): void => {
  const serve = (path: string, make: () => Promise<KeptAnswer>): void => {
    const kept = onceMade(make);
    instance.get(path, async (request, reply) => {
      const file = await kept();
      void reply.headers(HEADERS);
      return sendKept(file, request, reply);
    });
  };
  serve('/dashboard', () => keepPage('dashboard/'));
  serve('/dashboard/', () => keepPage(''));
  serve('/dashboard/chart.js', keepChartJs);
  for (const name of FILES) serve(`/dashboard/${name}`, () => keepFile(name));
};
