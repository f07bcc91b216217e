import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { startApp, type TestApp } from '../support/app.js';

/** What a caller sends is never connected to, however it is written: neither when it is checked nor when it is reported. */

let app: TestApp;
let canary: Server;
let visits = 0;
const opened: Socket[] = [];
const onSocket = (message: unknown): void => void opened.push((message as { socket: Socket }).socket);

beforeAll(async () => {
  app = await startApp();
  canary = createServer((socket) => {
    visits += 1;
    socket.destroy();
  }).listen(0, '127.0.0.1');
  await once(canary, 'listening');
  subscribe('net.client.socket', onSocket);
});
afterAll(async () => {
  unsubscribe('net.client.socket', onSocket);
  canary.close();
  await app.close();
});

const HOSTS = [
  '127.0.0.1',
  'localhost',
  '127.1',
  '127.0.1',
  '2130706433',
  '0x7f000001',
  '0x7f.0.0.1',
  '0177.0.0.1',
  '017700000001',
  '0.0.0.0',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::]',
  '[64:ff9b::7f00:1]',
  'LOCALHOST.',
  '127。0。0。1',
  '①②⑦.⓪.⓪.①',
  'localtest.me',
  '127.0.0.1.nip.io',
  'good.example@127.0.0.1',
  '127.0.0.1%00.good.example',
  '169.254.169.254',
  'metadata.google.internal',
  'evil[.]example',
];
const FORMS = [
  (host: string, port: number): string => `http://${host}:${port}/latest/meta-data`,
  (host: string, port: number): string => `https://${host}:${port}/?url=http://127.0.0.1:${port}`,
  (host: string, port: number): string => `${host}:${port}`,
  (host: string, port: number): string => `//${host}:${port}/x`,
  (host: string, port: number): string => `ftp://${host}:${port}/`,
  (host: string, port: number): string => `gopher://${host}:${port}/_x`,
  (host: string, port: number): string => `http:\\\\${host}:${port}\\x`,
  (host: string, port: number): string => `ws://user:pass@${host}:${port}/`,
  (host: string, port: number): string => `https://t.me/share/url?url=http://${host}:${port}`,
  (host: string, port: number): string => `ipfs://${host}:${port}`,
];

it('makes no connection to any of 250 addresses that are checked and reported', async () => {
  const { port } = canary.address() as { port: number };
  const contents = HOSTS.flatMap((host) => FORMS.map((form) => form(host, port)));
  expect(contents.length).toBeGreaterThanOrEqual(200);
  const reader = await app.issueKey({ organization: 'acme' });
  const ingest = await app.issueKey({ scopes: ['ingest'] });
  const post = async (path: string, key: string, type: string, body: unknown): Promise<Response> =>
    fetch(app.url + path, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': type },
      body: JSON.stringify(body),
    });
  const at = '2026-03-01T00:00:00Z';
  const events = contents.map((content, i) => ({
    specversion: '1.0',
    id: `outbound-${i}`,
    source: content,
    dataschema: content,
    type: 'AssetStatusChanged',
    time: at,
    data: { changeId: `o-${i}`, asset: { type: 'URL', content }, status: 'BLOCKED', brandReviews: [], createdAt: at },
  }));
  const reported = await post('/v2/events', ingest, 'application/cloudevents-batch+json', events);
  expect(await reported.json()).toMatchObject({ accepted: events.length });
  for (const content of contents)
    expect((await post('/v2/asset/check', reader, 'application/json', { content })).status).toBe(200);
  expect((await post('/v2/asset/check/bulk', reader, 'application/json', { contents })).status).toBe(200);

  expect(visits).toBe(0);
  // This process holds the client of these requests too, and the connections to the database.
  const ours = new Set([new URL(app.url).port, new URL(app.config.databaseUrl!).port || '5432']);
  const others = opened.map(({ remotePort }) => remotePort).filter((to) => to !== undefined && !ours.has(String(to)));
  expect(others).toEqual([]);
  expect(opened.length).toBeGreaterThan(0);
}, 60_000);
