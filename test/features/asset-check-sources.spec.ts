import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { answers, ListServer, sends } from '../support/list-server.js';
import { AssetChecker } from '../../src/asset-check/asset-checker.js';
import type { AssetCheckResponse } from '../../src/asset-check/asset-check.dto.js';
import { LOOPBACK_HOSTS } from '../support/cases/private-addresses.js';
import { startApp, type TestApp } from '../support/app.js';
import type { ApiResponse } from '../support/call.js';
import { eventually } from '../support/eventually.js';
import { cloudEvent, sentStatus } from '../support/upstream.js';

const BUDGET_MS = 400;

/** Sources that fail in different ways, and working sources. */
describe('The asset check with failing sources', () => {
  let folder: string;
  let app: TestApp;
  let key: string;
  let hadEndedAtStart: boolean;
  const servers: ListServer[] = [];
  const listUrls: string[] = [];
  const serversByName: Record<string, ListServer> = {};

  const serve = async (name: string, behaviour: ListServer['behave']): Promise<string> => {
    const server = new ListServer();
    server.behave = behaviour;
    servers.push(server);
    serversByName[name] = server;
    const url = `${await server.start()}/`;
    listUrls.push(url);
    return url;
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'asset-check-'));
    const hang = (): void => undefined;
    let hasEnded = false;
    const hangUntilGivenUp: ListServer['behave'] = (_, response) =>
      void response.once('close', () => (hasEnded = true));
    const list = async (id: string, behaviour: ListServer['behave'], more: object = {}): Promise<object> => ({
      id,
      kind: 'list',
      format: 'plain',
      url: await serve(id, behaviour),
      ...more,
    });
    const lookUp = async (id: string, behaviour: ListServer['behave']): Promise<object> => ({
      id,
      kind: 'http',
      url: await serve(id, behaviour),
      timeoutMs: 2_000,
    });
    const sources = {
      budgetMs: BUDGET_MS,
      sources: [
        { id: 'own', kind: 'own' },
        await list('hangs', hangUntilGivenUp, { timeoutMs: 60_000 }),
        await list('fails', answers(500)),
        await list('broken', sends('["half.example"'), { format: 'json' }),
        await list('large', answers(200, { 'content-length': '104857600' })),
        await list('circles', (request, response) => answers(302, { location: request.url! })(request, response)),
        await list('empty', sends('')),
        await list('good', sends('listed.example\n'), { refreshSeconds: 1 }),
        await lookUp('silent', hang),
        await lookUp('down', answers(503)),
        await lookUp('partner', sends('{"status":"UNKNOWN"}', { 'content-type': 'application/json' })),
      ],
    };
    await writeFile(join(folder, 'sources.json'), JSON.stringify(sources));
    const env = { SOURCES_FILE: join(folder, 'sources.json'), DATA_DIR: join(folder, 'data') };
    app = await startApp({ env });
    hadEndedAtStart = hasEnded;
    key = await app.issueKey({ organization: 'acme', scopes: ['read'] });
  });

  afterAll(async () => {
    await app.close();
    await Promise.all(servers.map((server) => server.stop()));
    await rm(folder, { recursive: true });
  });

  const post = (path: string, json: unknown): Promise<ApiResponse> => app.call(`/v2/asset/${path}`, { key, json });
  const check = async (content: string): Promise<AssetCheckResponse> => (await post('check', { content })).body;

  it('starts without waiting for failing sources', () => {
    // If the service waited for the hanging list, the service would start only after the list has timed out.
    expect(hadEndedAtStart).toBe(false);
  });

  it('responds within the budget with the results of working sources, and names each failed source', async () => {
    // `lookup-source.spec.ts` tests that a check waits no longer than its budget.
    expect(app.app.get(AssetChecker).budgetMs).toBe(BUDGET_MS);
    const answer = await check('listed.example');
    expect(answer).toMatchObject({ status: 'BLOCKED', source: 'good' });
    const reasons = Object.fromEntries(answer.sources.map(({ source, status, reason }) => [source, reason ?? status]));
    expect(reasons).toEqual({
      own: 'not-found',
      hangs: 'source-error',
      fails: 'source-error',
      broken: 'source-error',
      large: 'source-error',
      circles: 'source-error',
      empty: 'source-error',
      good: 'BLOCKED',
      silent: 'timeout',
      down: 'source-error',
      partner: 'not-found',
    });
    const { message } = await check('stranger.example');
    for (const source of ['hangs', 'fails', 'silent', 'down']) expect(message).toContain(source);
  });

  it('ends a bulk check in time if a source never responds, and counts incomplete results', async () => {
    const contents = Array.from({ length: 300 }, (_, n) => `bulk-${n}.example`);
    const { summary } = (await post('check/bulk', { contents })).body;
    expect(summary).toEqual({ blocked: 0, allowed: 0, unknown: 300, errored: 0, incomplete: 300 });
  });

  it('uses a changed list without a restart', async () => {
    serversByName['good']!.behave = sends('listed.example\nnew.example\n');
    await eventually('the new entry is used', async () => (await check('new.example')).status === 'BLOCKED');
    expect(await check('new.example')).toMatchObject({ status: 'BLOCKED', source: 'good' });
  });

  it('never connects to a host that a caller names, in a checked content or in an event', async () => {
    const connect = jest.spyOn(Socket.prototype, 'connect');
    const canary = new ListServer();
    const { port } = new URL(await canary.start());
    servers.push(canary);
    const hosts = [
      ...LOOPBACK_HOSTS,
      '0',
      '0177.1',
      '[0:0:0:0:0:ffff:7f00:1]',
      '%31%32%37.0.0.1',
      '127.0.0.1%00.good.example',
      '127.0.0.1.nip.io',
      'localtest.me',
      'user:secret@127.0.0.1',
      'good.example@127.0.0.1',
      'good.example%40@127.0.0.1',
      '169.254.169.254',
      'metadata.google.internal',
      'evil[.]example',
    ].map((host) => `${host}:${port}`);
    const forms = [
      (at: string) => at,
      (at: string) => `http://${at}/latest/meta-data`,
      (at: string) => `https://${at}/secret?x=1`,
      (at: string) => `//${at}/`,
      (at: string) => `http:\\\\${at}\\`,
      (at: string) => `hxxp://${at}/`,
      (at: string) => `ftp://${at}/x`,
      (at: string) => `gopher://${at}/_GET`,
      (at: string) => `ws://user:pass@${at}/`,
      (at: string) => `ipfs://${at}`,
      (at: string) => `view-source:http://${at}/`,
      (at: string) => `https://t.me/share/url?url=http://${at}`,
      (at: string) => `https://good.example/?url=http://${at}/`,
    ];
    const contents = [...hosts, '169.254.169.254'].flatMap((at) => forms.map((form) => form(at)));
    expect(contents.length).toBeGreaterThan(200);
    const response = await post('check/bulk', { contents });
    expect(response.status).toBe(200);
    for (const content of contents.slice(0, 30)) expect((await post('check', { content })).status).toBe(200);
    const ingestKey = await app.issueKey({ scopes: ['ingest'] });
    const events = contents.map((content, n) => ({
      ...cloudEvent(sentStatus(`o-${n}`, { asset: { type: 'URL', content } }, `outbound-${n}`)),
      source: encodeURI(content),
      dataschema: content,
    }));
    const headers = { 'content-type': 'application/cloudevents-batch+json' };
    const sent = await app.call('/v2/events', { key: ingestKey, json: events, headers });
    expect(sent.body.accepted).toBeGreaterThan(0);
    const ports = connect.mock.calls.map((given) => {
      const [to] = [given[0] as unknown].flat() as [number | { port?: number }];
      return String(typeof to === 'object' ? to.port : to);
    });
    connect.mockRestore();
    expect(canary.connections).toBe(0);
    const known = [app.url, app.config.databaseUrl!, ...listUrls].map((url) => new URL(url).port || '5432');
    expect(ports).toContain(known[0]);
    expect(ports.filter((each) => !known.includes(each))).toEqual([]);
  });
});
