/**
 * The peer that the API is compared with: bare `node:http` with the same work and responses, but without keys, limits,
 * validation, headers or metrics. Runs in a separate process.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createPool } from '../src/postgres/pool.js';
import { PLAIN_COUNT, type PlainCount, plainMetrics } from './metrics-work.js';
import { FIND_BRAND, FIND_GROUP, LIST_GROUPS, LIST_MEMBERS } from './peer-statements.js';

const pool = createPool(process.env['DATABASE_URL']!, () => {}, { statement_timeout: 0, query_timeout: 0 });

const sendJson = (response: ServerResponse, value: unknown): void => {
  const body = JSON.stringify(value);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }).end(body);
};

const echo = (request: IncomingMessage, response: ServerResponse): void => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const { content } = JSON.parse(Buffer.concat(chunks).toString()) as { content: string };
    sendJson(response, { organization: 'org-1', length: content.length });
  });
};

const brand = async (url: string, response: ServerResponse): Promise<void> => {
  const name = new URLSearchParams(url.slice(url.indexOf('?'))).get('brand');
  const { rows } = await pool.query<{ name: string }>({ ...FIND_BRAND, values: ['org-1', name] });
  sendJson(response, { brand: name, name: rows[0]?.name });
};

const groups = async (url: string, response: ServerResponse): Promise<void> => {
  const parameters = new URLSearchParams(url.slice(url.indexOf('?')));
  const organization = parameters.get('organization');
  const [, group, members] = /^\/v2\/organization\/asset-groups(?:\/(\d+)(\/assets)?)?/.exec(url)!;
  if (group === undefined) {
    const { rows } = await pool.query({ ...LIST_GROUPS, values: [organization] });
    return sendJson(response, { groups: rows });
  }
  if (members === undefined) {
    const { rows } = await pool.query<object>({ ...FIND_GROUP, values: [organization, group] });
    return sendJson(response, rows[0]);
  }
  const { rows } = await pool.query<{ type: string; content: string; version: number }>({
    ...LIST_MEMBERS,
    values: [organization, group],
  });
  const since = (version: number): string => new Date(Math.floor(version / 2)).toISOString();
  return sendJson(response, {
    assets: rows.map(({ type, content, version }) => ({ type, content, since: since(version) })),
  });
};

const metrics = async (url: string, response: ServerResponse): Promise<void> => {
  const parameters = new URLSearchParams(url.slice(url.indexOf('?')));
  const at = (name: string, other: number): number =>
    parameters.has(name) ? Date.parse(parameters.get(name)!) : other;
  const values = [
    parameters.get('organization'),
    '',
    at('startDate', -62_135_596_800_000),
    at('endDate', 253_402_300_799_999),
  ];
  const { rows } = await pool.query<PlainCount>({ ...PLAIN_COUNT, values });
  sendJson(response, plainMetrics(rows[0]!));
};

const server = createServer((request, response) => {
  const url = request.url!;
  const fail = (error: unknown): void => {
    response.writeHead(500, { 'content-length': 0 }).end();
    console.error(error);
  };
  if (url === '/v2/bench/echo') echo(request, response);
  else if (url.startsWith('/v2/bench/brand')) brand(url, response).catch(fail);
  else if (url.startsWith('/v2/organization/asset-groups')) groups(url, response).catch(fail);
  else metrics(url, response).catch(fail);
});
server.listen(0, '127.0.0.1', () => {
  process.send!({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
process.on('disconnect', () => process.exit());
