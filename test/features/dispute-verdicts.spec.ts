import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startApp, type TestApp } from '../support/app.js';
import { Rig } from '../support/delivery-rig.js';
import { report, sentStatus } from '../support/upstream.js';

/** The response of the source, and the contents that it was asked about. */
const source = { status: 200, verdict: 'BLOCKED', asked: [] as string[] };
const folder = mkdtempSync(join(tmpdir(), 'dispute-verdicts-'));
let server: Server;
let rig: Rig;
let app: TestApp;
beforeAll(async () => {
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += String(chunk)));
    request.on('end', () => {
      source.asked.push((JSON.parse(body) as { content: string }).content);
      response.writeHead(source.status).end(JSON.stringify({ status: source.verdict }));
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const sources = [
    { id: 'own', kind: 'own' },
    { id: 'outside', kind: 'http', url },
  ];
  writeFileSync(join(folder, 'sources.json'), JSON.stringify({ sources }));
  rig = await Rig.start();
  const env = { SOURCES_FILE: join(folder, 'sources.json'), DATA_DIR: join(folder, 'data') };
  app = await startApp({ env, databaseUrl: rig.database.url });
});
afterAll(async () => {
  await app.close();
  await rig.end();
  server.close();
  rmSync(folder, { recursive: true });
});

/** Files disputes about these contents, each of which the source blocks. */
const disputesAbout = async (contents: readonly string[]) => {
  Object.assign(source, { status: 200, verdict: 'BLOCKED' });
  const key = await app.issueKey({ organization: `org-${randomUUID().slice(0, 8)}` });
  for (const content of contents)
    expect((await app.call('/v2/asset/disputes', { key, json: { content } })).status).toBe(201);
  await rig.projecting.reached();
  source.asked = [];
  return async (): Promise<Record<string, any>[]> =>
    (await app.call('/v2/asset/disputes?limit=1000', { key })).body.items;
};

/** Runs `work` as if this much time had passed, so that results have expired. */
const later = async <T>(ms: number, work: () => Promise<T>): Promise<T> => {
  const now = performance.now.bind(performance);
  performance.now = () => now() + ms;
  try {
    return await work();
  } finally {
    performance.now = now;
  }
};

describe('verdictNow', () => {
  it('is absent while a source fails, and present once the source answers otherwise', async () => {
    const list = await disputesAbout(['a.example']);
    source.status = 500;
    const failing = await later(400_000, list);
    expect(source.asked).toEqual(['a.example']);
    expect(failing[0]).not.toHaveProperty('verdictNow');
    Object.assign(source, { status: 200, verdict: 'UNKNOWN' });
    expect((await later(400_000, list))[0]).toMatchObject({ verdictNow: { status: 'UNKNOWN' } });
  });

  it('is shown while a source fails if an exact status of this service decides alone', async () => {
    const list = await disputesAbout(['decided.example', 'sub.decided.example', 'other.example']);
    source.status = 500;
    const upstream = await app.issueKey({ scopes: ['ingest'] });
    const after = await report(app, upstream, [
      sentStatus(randomUUID(), { asset: { type: 'URL', content: 'decided.example' }, status: 'ALLOWED' }),
    ]);
    await rig.projecting.reached();
    await app.call('/v2/asset/check', {
      key: await app.issueKey({ organization: 'any' }),
      json: { content: 'decided.example' },
      after,
    });
    const shown = await later(400_000, list);
    expect(Object.fromEntries(shown.map(({ content, verdictNow }) => [content, verdictNow?.status]))).toEqual({
      'decided.example': 'ALLOWED',
      'sub.decided.example': undefined,
      'other.example': undefined,
    });
  });

  it('needs at most 25 lookups per request, and one per content in five minutes', async () => {
    const list = await disputesAbout(Array.from({ length: 60 }, (_, n) => `many-${n}.example`));
    source.verdict = 'UNKNOWN';
    const counts: number[][] = [];
    await later(1_200_000, async () => {
      for (let round = 0; round < 4; round += 1) {
        source.asked = [];
        const shown = (await list()).filter(({ verdictNow }) => verdictNow !== undefined).length;
        counts.push([source.asked.length, shown]);
      }
    });
    expect(counts).toEqual([
      [25, 25],
      [25, 50],
      [10, 60],
      [0, 60],
    ]);
  });
});

describe('POST /v2/asset/disputes', () => {
  it('returns 422 if a source blocks a text that opens several assets', async () => {
    Object.assign(source, { status: 200, verdict: 'BLOCKED' });
    const key = await app.issueKey({ organization: 'whole' });
    const content = 'mailto:a@good.example?cc=b@other.example';
    expect(await app.call('/v2/asset/disputes', { key, json: { content } })).toMatchObject({
      status: 422,
      body: { message: expect.stringContaining('opens several assets') },
    });
  });
});
