import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { TimeSlices } from '../../src/flow/turns.js';
import { AssetChecker } from '../../src/asset-check/asset-checker.js';
import { bulkJson, CheckAssets, CheckAssetsHandler } from '../../src/asset-check/check-assets.js';
import { HostingSuffixes } from '../../src/asset-check/lists/hosting-suffixes.js';
import { LookupSource } from '../../src/asset-check/lookup-source.js';
import { OwnStatuses } from '../../src/asset-check/own/own-statuses.js';
import type { ConfiguredSources } from '../../src/asset-check/sources/configured-sources.js';
import type { Source } from '../../src/asset-check/sources/sources.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';
import { newDatabase } from '../support/open-for-tests.js';
import { ListServer, sends } from '../support/list-server.js';

describe('A bulk check', () => {
  const database = newDatabase();
  let server: ListServer;
  let url: string;
  let own: Source;

  beforeEach(async () => {
    server = new ListServer();
    url = await server.start();
    const statuses = new OwnStatuses(
      database.pool,
      new InMemoryEventLog(),
      new HostingSuffixes(),
      1e9,
      () => undefined,
    );
    await statuses.refresh();
    own = { id: 'own', mode: 'ENABLED', of: { kind: 'own', statuses } };
  });

  afterEach(() => server.stop());

  const lookUp = (timeoutMs: number, mode: Source['mode'] = 'ENABLED'): Source => {
    const settings = { id: 'partner', kind: 'http', mode, url, headers: {}, timeoutMs } as const;
    return { id: 'partner', mode, of: { kind: 'http', lookUp: new LookupSource(settings) } };
  };

  const bulk = async (sources: readonly Source[], contents: readonly string[], budgetMs: number) => {
    const handler = new CheckAssetsHandler(
      new AssetChecker(sources, budgetMs),
      new TimeSlices(),
      {} as ConfiguredSources,
    );
    return (await handler.execute(new CheckAssets(contents))).result;
  };

  it('looks up every content in a source, even though a source receives at most 50 requests at a time', async () => {
    server.behave = sends('{"status":"BLOCKED"}', { 'content-type': 'application/json' });
    const contents = Array.from({ length: 240 }, (_, n) => `site-${n}.example`);
    // Five rounds of requests take longer than the budget of a single check.
    const { summary } = await bulk([own, lookUp(20_000)], contents, 1);
    expect(summary).toEqual({ blocked: 240, allowed: 0, unknown: 0, errored: 0, incomplete: 0 });
  });

  it('shortens how long a result may be kept by the time for which it waited for other results', async () => {
    const result = { status: 'BLOCKED', sources: [], cacheSeconds: 59 };
    const late = { ...result, cacheSeconds: 300 };
    const check = async (content: string): Promise<unknown> => {
      if (content === 'late.example') await sleep(1_050);
      return content === 'late.example' ? late : result;
    };
    const handler = new CheckAssetsHandler(
      { check, budgetOf: () => 5_000 } as unknown as AssetChecker,
      new TimeSlices(),
      {} as ConfiguredSources,
    );
    const { results } = (await handler.execute(new CheckAssets(['one.example', 'late.example']))).result;
    expect(results.map(({ cacheSeconds }) => cacheSeconds)).toEqual([57, 300]);
  });

  it('counts the contents for which a source returned no result', async () => {
    server.behave = (_, response) => response.destroy();
    const contents = ['one.example', 'two.example', 'no asset', 'localhost'];
    const { results, summary } = await bulk([own, lookUp(1_000)], contents, 500);
    expect(summary).toEqual({ blocked: 0, allowed: 0, unknown: 2, errored: 2, incomplete: 2 });
    expect(results[0]!.sources[1]).toMatchObject({ reason: 'source-error' });
  });

  it('returns a response no larger than its request for long contents, and writes the response one result at a time', async () => {
    const contents = Array.from({ length: 100 }, (_, n) => `https://sites.google.com/${n}/${'😀'.repeat(1_270)}`);
    const answer = await bulk([own], contents, 500);
    expect(answer.results[0]!.asset!.content).toMatch(/^sites\.google\.com\/0\/.{101}…$/);
    const writing = bulkJson(answer);
    let pauses = 0;
    let written = writing.next();
    for (; !written.done; written = writing.next()) pauses += 1;
    expect(pauses).toBe(contents.length);
    expect(written.value).toBe(JSON.stringify(answer));
    expect(written.value!.length).toBeLessThan(Buffer.byteLength(JSON.stringify({ contents })) / 3);
  });

  it('has a time budget that grows with the number of contents up to 30 s, and is at least the budget of a single check', () => {
    const budget = (contents: number, source: Source): number =>
      new AssetChecker([own, source], 1_500).budgetOf(contents);
    expect(budget(1, lookUp(1_000))).toBe(1_500);
    expect(budget(25, lookUp(60_000))).toBe(1_500);
    expect(budget(26, lookUp(1_000))).toBe(2_500);
    expect(budget(500, lookUp(1_000))).toBe(20_500);
    expect(budget(1_000, lookUp(5_000))).toBe(30_000);
    expect(budget(1_000, lookUp(5_000, 'DISABLED'))).toBe(1_500);
    expect(new AssetChecker([own, lookUp(1_000)], 45_000).budgetOf(1_000)).toBe(45_000);
  });

  it('yields to other requests while it parses slow contents', async () => {
    const contents = Array.from({ length: 1_000 }, (_, n) => `https://x.com/${'가'.repeat(2_000)}${n}`);
    let turns = 0;
    const countTurn = (): void => {
      turns += 1;
      waiting = setImmediate(countTurn);
    };
    let waiting = setImmediate(countTurn);
    await bulk([own], contents, 1_500);
    clearImmediate(waiting);
    expect(turns).toBeGreaterThan(10);
  });
});
