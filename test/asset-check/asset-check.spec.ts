import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AssetCheckResponse } from '../../src/asset-check/asset-check.dto.js';
import { AssetChecker } from '../../src/asset-check/asset-checker.js';
import { HostingSuffixes } from '../../src/asset-check/lists/hosting-suffixes.js';
import { ListSource } from '../../src/asset-check/lists/list-source.js';
import type { Source } from '../../src/asset-check/sources/sources.js';
import type { Format } from '../../src/asset-check/lists/parse-list.js';
import { OwnStatuses } from '../../src/asset-check/own/own-statuses.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';
import { sharedDatabase } from '../support/open-for-tests.js';

describe('AssetChecker', () => {
  let folder: string;
  const database = sharedDatabase();
  let own: Source;
  const suffixes = new HostingSuffixes();

  const list = async (id: string, format: Format, text: string, appeal?: string): Promise<Source> => {
    const file = join(folder, id);
    await writeFile(file, text);
    const settings = {
      id,
      format,
      file,
      verdict: 'BLOCKED',
      refreshSeconds: 300,
      timeoutMs: 1_000,
      maxBytes: 1e6,
    } as const;
    const source = new ListSource({ ...settings, kind: 'list', mode: 'ENABLED' }, suffixes, folder, () => undefined);
    await source.refresh(new AbortController().signal);
    return { id, mode: 'ENABLED', appeal, of: { kind: 'list', list: source } };
  };

  const answerOf = (sources: readonly Source[], content: string): AssetCheckResponse =>
    new AssetChecker(sources, 100).check(content, 'acme') as AssetCheckResponse;

  beforeAll(async () => {
    Logger.overrideLogger(false);
    folder = await mkdtemp(join(tmpdir(), 'check-'));
    const statuses = new OwnStatuses(database.pool, new InMemoryEventLog(), suffixes, 1e9, () => undefined);
    await database.pool.query(`
      insert into read.asset_statuses (asset_hash, asset, status, created_at, position) values
        ('1', 'URL:ours.example', 'BLOCKED', ${Date.parse('2026-03-01T23:59:59Z')}, 1),
        ('2', 'URL:friend.example', 'ALLOWED', ${Date.parse('2026-03-02T00:00:00Z')}, 2)`);
    await statuses.refresh();
    own = { id: 'own', mode: 'ENABLED', of: { kind: 'own', statuses } };
  });

  afterAll(() => rm(folder, { recursive: true }));

  it('names a source that has not answered about one of several links, in any order', async () => {
    const lookUp = {
      check: (content: string) => ({
        status: 'UNKNOWN',
        reason: content.startsWith('https://late') ? 'timeout' : 'not-found',
      }),
    };
    const partner = { id: 'partner', mode: 'ENABLED', of: { kind: 'http', lookUp } } as never;
    for (const content of [
      'https://late.example/x https://b.example/y',
      'https://b.example/y https://late.example/x',
    ]) {
      const { status, sources, message } = answerOf([own, partner], content);
      expect([status, sources[1]]).toMatchObject(['UNKNOWN', { source: 'partner', reason: 'timeout' }]);
      expect(message).toContain('no response in time: partner');
    }
  });

  it('describes in one sentence who lists the asset, since when, and where to appeal', async () => {
    const appeal = 'https://lists.example/appeal';
    const listed = await list('listed', 'plain', 'evil.example\ngithub.io', appeal);
    const fuzzy = await list('fuzzy', 'metamask', '{"blacklist":["x.example"],"fuzzylist":["metamask.io"]}');
    const allowed = await list('allowed', 'polkadot', '{"deny":["x.example"],"allow":["good.example"]}', appeal);
    const sources = [own, listed, fuzzy, allowed];
    const sentence = (content: string): string => answerOf(sources, content).message;
    expect(sentence('https://ours.example/x')).toBe(
      '"https://ours.example/x" is blocked: this service has "ours.example" on its blocklist since 2026-03-01; to dispute this, see POST /v2/asset/disputes.',
    );
    expect(sentence('a.friend.example')).toBe(
      '"a.friend.example" is allowed: this service has "friend.example", the domain above it, on its allowlist since 2026-03-02.',
    );
    expect(sentence('evil.example')).toBe(
      `"evil.example" is blocked: the source listed has it on its blocklist; to dispute this, see ${appeal}.`,
    );
    expect(sentence('a.evil.example')).toBe(
      `"a.evil.example" is blocked: the source listed has "evil.example", the domain above it, on its blocklist; to dispute this, see ${appeal}.`,
    );
    expect(sentence('metemask.io')).toBe(
      '"metemask.io" is blocked: the source fuzzy flags it as imitating "metamask.io".',
    );
    expect(sentence('good.example')).toBe('"good.example" is allowed: the source allowed has it on its allowlist.');
    expect(sentence('someone.github.io')).toBe(
      '"github.io" is listed, but anybody can publish there, so nothing is known about "someone.github.io" itself.',
    );
    expect(sentence('stranger.example')).toBe(
      'No source lists "stranger.example", so it is neither known good nor known bad.',
    );
    expect(sentence('@somebody')).toBe('No source lists "@somebody", so it is neither known good nor known bad.');
    expect(sentence(`sites.google.com/view/${'x'.repeat(4_000)}`).length).toBeLessThan(250);
  });

  it('names the matching entry as the list wrote it, and the parent page, profile or domain', async () => {
    const listed = await list('listed', 'plain', 'München.EXAMPLE\nmedium.com/@Evil');
    const sentence = (content: string): string => answerOf([own, listed], content).message;
    expect(sentence('XN--MNCHEN-3YA.example')).toBe(
      '"XN--MNCHEN-3YA.example" is blocked: the source listed has "München.EXAMPLE" on its blocklist.',
    );
    expect(sentence('medium.com/@evil/a-post')).toBe(
      '"medium.com/@evil/a-post" is blocked: the source listed has "medium.com/@Evil", the page or profile above it, on its blocklist.',
    );
    expect(sentence('someone@ours.example')).toBe(
      '"someone@ours.example" is blocked: this service has "ours.example", the domain it is at, on its blocklist since 2026-03-01; to dispute this, see POST /v2/asset/disputes.',
    );
  });

  it('returns the type and normalized content of the asset', () => {
    const assetOf = (content: string) => answerOf([own], content).asset;
    expect(assetOf('https://u@OURS.example:80/x')).toEqual({ type: 'URL', content: 'ours.example' });
    expect(assetOf('https://x.com/Evil/status/1')).toEqual({ type: 'TWITTER', content: 'evil' });
    expect(assetOf('medium.com/@evil/a-post')).toEqual({ type: 'PAGE', content: 'medium.com/@evil/a-post' });
    expect(assetOf('http://127.1/x')).toEqual({ type: 'URL', content: '127.0.0.1' });
    expect(assetOf('chrome://settings')).toEqual({ type: 'URL', content: 'chrome://settings' });
    expect(answerOf([own], 'hello world')).not.toHaveProperty('asset.type');
  });

  it('quotes invalid content without splitting characters and without invisible characters', () => {
    expect(answerOf([own], 'a b\u202e\n\ud800c').message).toMatch(/^"a b\ufffd\ufffd\ufffdc" is not a URL/);
    expect(answerOf([own], 'hello world').message).toBe(
      '"hello world" is not a URL, host, wallet address, profile or anything else that can be checked.',
    );
    expect(answerOf([own], '𝒂'.repeat(300)).message).toMatch(/^"𝒂{60}…" is not a URL/u);
    expect(answerOf([own], `a${'𝒂'.repeat(300)}`).message).toMatch(/^"a𝒂{59}…" is not a URL/u);
  });

  it('returns unsupported-type if every enabled source returns unsupported-type', async () => {
    const hosts = await list('hosts', 'hosts', '0.0.0.0 evil.example');
    const sources: Source[] = [{ ...own, mode: 'DISABLED' }, hosts];
    expect(answerOf(sources, '@somebody')).toMatchObject({
      status: 'UNKNOWN',
      source: 'own',
      reason: 'unsupported-type',
      sources: [
        { source: 'own', mode: 'DISABLED', status: 'UNKNOWN' },
        { source: 'hosts', reason: 'unsupported-type' },
      ],
    });
    expect(answerOf([own, hosts], '@somebody')).toMatchObject({ reason: 'not-found' });
  });

  it('uses the other sources if one source throws', async () => {
    const good = await list('good', 'plain', 'evil.example');
    const broken = await list('broken', 'plain', 'evil.example');
    Object.assign((broken.of as { list: ListSource }).list, {
      check: () => {
        throw new Error('broken');
      },
    });
    expect(answerOf([own, broken, good], 'evil.example')).toMatchObject({
      status: 'BLOCKED',
      source: 'good',
      sources: [{ source: 'own' }, { source: 'broken', status: 'UNKNOWN', reason: 'source-error' }, { source: 'good' }],
    });
  });

  it('returns internal-error if the check itself fails', async () => {
    const check = new AssetChecker([own], 100);
    // No known content makes a check fail, so the spec injects a failure.
    Object.assign(check, { toResponse: () => JSON.parse('{') as never });
    expect(check.check('evil.example', 'acme')).toEqual({
      status: 'UNKNOWN',
      source: 'own',
      reason: 'not-found',
      sources: [{ source: 'own', status: 'UNKNOWN', mode: 'ENABLED' }],
      message: 'The check of "evil.example" itself failed, so there is no verdict.',
      asset: { type: 'URL', content: 'evil.example' },
      code: 'internal-error',
      cacheSeconds: 0,
    });
  });
});
