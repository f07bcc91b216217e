/**
 * A naive implementation of the API for negative controls: every attack must succeed against it. The key of an
 * organization is its name.
 */
import { createReadStream } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { constants, gunzipSync } from 'node:zlib';
import { Pool } from 'pg';

interface Group {
  readonly id: number;
  readonly name: string;
}

const pool = new Pool({ connectionString: process.env['DATABASE_URL'] });
pool.on('error', () => {});
const stored = new Map<string, { type: string; data: any }>();
const groups = new Map<string, Group[]>();
await pool.query('create table naive_groups (organization text, name text)');

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const bytes = Buffer.concat(chunks);
  const isPacked = request.headers['content-encoding'] === 'gzip';
  return (isPacked ? gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH }) : bytes).toString('utf8');
};

const hostOf = (content: string): string => /^https?:\/\/([^/:?#]+)/.exec(content)?.[1]?.toLowerCase() ?? content;

const verdict = (content: string): object => {
  // This pattern backtracks exponentially on crafted text.
  if (/^(([a-z0-9]+)+\.)+$/.test(content.slice(0, 26))) return { status: 'UNKNOWN' };
  // A naive check would open any link. This one opens only links to this machine.
  if (URL.canParse(content) && new URL(content).hostname === '127.0.0.1') void fetch(content).catch(() => {});
  const isBlocked = [...stored.values()].some(
    ({ type, data }) =>
      type === 'AssetStatusChanged' && data.status === 'BLOCKED' && data.asset.content === hostOf(content),
  );
  return { status: isBlocked ? 'BLOCKED' : 'UNKNOWN', sources: [], message: '' };
};

const record = (body: any): object => {
  let duplicates = 0;
  const events = Array.isArray(body) ? body : [body];
  for (const { source, id, type, data } of events) {
    const key = `${source}\n${id}`;
    if (stored.has(key)) duplicates += 1;
    else stored.set(key, { type, data });
  }
  return { accepted: events.length - duplicates, duplicates, rejected: [] };
};

const metrics = async (organization: string): Promise<object> => {
  const ownEvents = [...stored.values()].filter(({ data }) => data?.organization === organization);
  // A slow query for large organizations, on a shared pool.
  if (ownEvents.length > 1_000) await pool.query('select pg_sleep(1)');
  else await pool.query('select 1');
  const count = (type: string): number => ownEvents.filter((one) => one.type === type).length;
  return { metrics: { reports: count('ReportFiled'), newThreats: count('ThreatStatusChanged') }, own: ownEvents };
};

/** Returns the records of the organization, and the data that belongs to no organization unfiltered. */
const recordsOf = (organization: string): object => ({
  items: [...stored.values()]
    .map(({ data }) => data)
    .filter((data) => (data.organization ?? organization) === organization),
});

const create = async (organization: string, name: string): Promise<[number, object]> => {
  const list = groups.get(organization) ?? [];
  groups.set(organization, list);
  const isTaken = list.some((group) => group.name === name);
  const { rows } = (await pool.query(
    `select name from naive_groups where organization = '${organization}' and name = '${name}'`,
  )) as { rows: { name: string }[] };
  await wait(5);
  if (isTaken) return [409, { code: 'CONFLICT', message: 'A group with this name already exists' }];
  const group = { id: list.length + 1, name };
  list.push(group);
  return [201, { ...group, rows }];
};

const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const url = new URL(request.url!, 'http://naive');
  console.log(
    `${request.headers['x-forwarded-for'] ?? ''} ${request.headers['x-api-key']} ${request.method} ` +
      `${decodeURIComponent(request.url!)} ${request.headers['x-request-id']}`,
  );
  response.setHeader('x-powered-by', 'Naive 1.0');
  if (request.headers['x-request-id']) response.setHeader('x-request-id', request.headers['x-request-id']);
  const send = (status: number, body: unknown): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  if (url.pathname.startsWith('/docs')) {
    createReadStream(process.execPath, { end: 1_000_000 }).pipe(response);
    return;
  }
  if (url.pathname === '/health/live') return send(200, { status: 'live' });
  const organization =
    url.searchParams.get('organization') ??
    String(request.headers['x-api-key'] ?? url.searchParams.get('x-api-key') ?? '');
  const body = await bodyOf(request);
  if (organization === '') return send(401, { code: 'UNAUTHORIZED', message: 'A key is needed' });
  const read = (): any => JSON.parse(body);
  if (url.pathname === '/v2/events') return send(200, record(read()));
  if (url.pathname === '/v2/asset/check') return send(200, verdict(read().content));
  if (url.pathname === '/v2/asset/check/bulk') return send(200, { results: read().contents.map(verdict) });
  if (url.pathname === '/v2/organization/metrics') return send(200, await metrics(organization));
  if (/^\/v2\/organization\/(?:reports|threats|takedowns|verdicts)(?:\.csv)?$/.test(url.pathname))
    return send(200, recordsOf(organization));
  if (url.pathname === '/v2/organization/asset-groups' && request.method === 'POST')
    return send(...(await create(organization, read().name)));
  if (url.pathname.startsWith('/v2/organization/asset-groups'))
    return send(200, { groups: groups.get(organization) ?? [] });
  send(200, {});
};

const server = createServer({ insecureHTTPParser: true, requestTimeout: 0, headersTimeout: 0 }, (request, response) => {
  handle(request, response).catch((error: unknown) => {
    if (!response.headersSent) response.writeHead(500);
    response.end(String((error as Error).stack));
  });
});
server.keepAliveTimeout = 0;
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  console.log(`Listening on http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`);
});
process.on('disconnect', () => process.exit(0));
