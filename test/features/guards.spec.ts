import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readSourcesStatus } from '../../src/asset-check/sources/sources.js';
import { startApp, type TestApp } from '../support/app.js';
import { eventually } from '../support/eventually.js';
import { cloudEvent, sentStatus } from '../support/upstream.js';

describe('A guard in the sources file', () => {
  let folder: string;
  let app: TestApp | undefined;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'guards-'));
    await writeFile(join(folder, 'list.txt'), 'x.example\nevil.x.example\nother.example\n');
    await writeFile(join(folder, 'hosts.csv'), '1,x.example\n2,y.example\n');
  });

  afterEach(async () => {
    await app?.close();
    app = undefined;
    await rm(folder, { recursive: true });
  });

  const env = () => ({ DATA_DIR: join(folder, 'data'), SOURCES_FILE: join(folder, 'sources.json') });
  const start = async (guard: object): Promise<TestApp> => {
    const sources = [
      { id: 'popular', kind: 'guard', ...guard },
      { id: 'own', kind: 'own' },
      { id: 'near', kind: 'list', format: 'plain', file: 'list.txt' },
    ];
    await writeFile(env().SOURCES_FILE, JSON.stringify({ sources }));
    app = await startApp({ env: env() });
    return app;
  };
  const metrics = async (): Promise<string> => String((await app!.call('/metrics')).body);

  it('is no source of a check, and is named where it overrules an entry', async () => {
    const service = await start({ format: 'csv', file: 'hosts.csv' });
    const key = await service.issueKey({ organization: 'acme', scopes: ['read'] });
    const { body } = await service.call('/v2/asset/check', { key, json: { content: 'https://x.example/a' } });
    expect(body).toMatchObject({ status: 'UNKNOWN', source: 'own', reason: 'not-found' });
    expect(body.sources).toEqual([
      { source: 'own', status: 'UNKNOWN', mode: 'ENABLED', reason: 'not-found' },
      {
        source: 'near',
        status: 'UNKNOWN',
        mode: 'ENABLED',
        reason: 'not-found',
        match: 'x.example',
        guardedBy: 'popular',
      },
    ]);
    const history = await service.call('/v2/asset/history', { key, json: { content: 'x.example' } });
    expect(history.body.lists).toMatchObject([{ source: 'near', status: 'UNKNOWN', guardedBy: 'popular' }]);
    const below = await service.call('/v2/asset/check', { key, json: { content: 'evil.x.example' } });
    expect(below.body).toMatchObject({ status: 'BLOCKED', source: 'near' });
  });

  it('is counted per list in /metrics and in the status of the sources', async () => {
    await start({ format: 'csv', file: 'hosts.csv' });
    await eventually('the entries are counted', async () =>
      (await metrics()).includes('threat_protection_asset_check_list_overruled_entries{source="near"} 1'),
    );
    expect(await metrics()).toContain('threat_protection_asset_check_list_entries{source="popular"} 2');
    const config = { dataDir: env().DATA_DIR, sourcesFile: env().SOURCES_FILE, variable: () => undefined };
    await eventually('the count is saved', async () => {
      const [guard, list] = await readSourcesStatus(config);
      const overruled = { count: 1, examples: [{ entry: 'x.example', guard: 'popular' }] };
      return guard!.overruled === undefined && JSON.stringify(list!.overruled) === JSON.stringify(overruled);
    });
  });

  it('lets an own status block its hosts, and the sender is warned', async () => {
    const service = await start({ format: 'csv', file: 'hosts.csv' });
    const key = await service.issueKey({ scopes: ['ingest'] });
    const send = async (content: string, status: string, changeId: string) => {
      const json = cloudEvent(sentStatus(changeId, { asset: { type: 'URL', content }, status }));
      const headers = { 'content-type': 'application/cloudevents+json' };
      return (await service.call('/v2/events', { key, json, headers })).body;
    };
    const message =
      'data.asset.content is a host that the guard popular keeps lists from blocking; the status blocks it';
    expect(await send('https://www.X.example/a', 'BLOCKED', 'c1')).toMatchObject({
      accepted: 1,
      warnings: [{ index: 0, issues: [{ message }] }],
    });
    for (const [n, [content, status]] of [
      ['evil.x.example', 'BLOCKED'],
      ['x.example', 'ALLOWED'],
      ['other.example', 'BLOCKED'],
    ].entries())
      expect(await send(content!, status!, `d${n}`)).not.toHaveProperty('warnings');
    expect(await metrics()).toContain('threat_protection_ingest_guarded_blocks_total 1');
  });

  it('that was never read makes the service degraded, and does not overrule anything', async () => {
    const service = await start({ url: 'http://127.0.0.1:9/hosts.txt' });
    const { body } = await service.call('/health/ready');
    expect(body.parts.lists).toMatchObject({ state: 'degraded', detail: { popular: { entries: 0 } } });
    expect(await metrics()).not.toContain('list_overruled_entries{');
  });
});
