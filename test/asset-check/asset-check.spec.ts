import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Answer, AssetCheck } from '../../src/asset-check/asset-check.js';
import { HostingSuffixes } from '../../src/asset-check/sources/hosting-suffixes.js';
import { ListSource } from '../../src/asset-check/sources/list-source.js';
import type { Source } from '../../src/asset-check/sources/sources.js';
import type { Format } from '../../src/asset-check/sources/list-format.js';
import { OwnStatuses } from '../../src/asset-check/sources/own-statuses.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';

describe('a check', () => {
  let folder: string;
  let database: TestDatabase;
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

  const answerOf = (sources: readonly Source[], content: string): Answer =>
    new AssetCheck(sources, 100).check(content) as Answer;

  beforeAll(async () => {
    Logger.overrideLogger(false);
    folder = await mkdtemp(join(tmpdir(), 'check-'));
    database = await createDatabase();
    const statuses = new OwnStatuses(database.pool, suffixes, () => undefined);
    await database.pool.query(`
      insert into read.asset_statuses (asset_hash, asset, status, created_at, position) values
        ('1', 'URL:ours.example', 'BLOCKED', ${Date.parse('2026-03-01T23:59:59Z')}, 1),
        ('2', 'URL:friend.example', 'ALLOWED', ${Date.parse('2026-03-02T00:00:00Z')}, 2)`);
    await statuses.refresh();
    own = { id: 'own', mode: 'ENABLED', of: { kind: 'own', statuses } };
  });

  afterAll(async () => {
    await database.drop();
    await rm(folder, { recursive: true });
  });

  it('says in a sentence who lists the asset, since when, and where to appeal', async () => {
    const appeal = 'https://lists.example/appeal';
    const listed = await list('listed', 'plain', 'evil.example\ngithub.io', appeal);
    const fuzzy = await list('fuzzy', 'metamask', '{"blacklist":["x.example"],"fuzzylist":["metamask.io"]}');
    const allowed = await list('allowed', 'polkadot', '{"deny":["x.example"],"allow":["good.example"]}', appeal);
    const sources = [own, listed, fuzzy, allowed];
    const sentence = (content: string): string => answerOf(sources, content).message;
    expect(sentence('https://ours.example/x')).toBe(
      '"ours.example" is blocked: this service has it on its blocklist since 2026-03-01.',
    );
    expect(sentence('a.friend.example')).toBe(
      '"a.friend.example" is allowed: this service has "friend.example", the domain above it, on its allowlist since 2026-03-02.',
    );
    expect(sentence('evil.example')).toBe(
      `"evil.example" is blocked: the source listed has it on its blocklist; who disagrees can appeal at ${appeal}.`,
    );
    expect(sentence('a.evil.example')).toBe(
      `"a.evil.example" is blocked: the source listed has "evil.example", the domain above it, on its blocklist; who disagrees can appeal at ${appeal}.`,
    );
    expect(sentence('metemask.io')).toBe(
      '"metemask.io" is blocked: the source fuzzy takes it for an imitation of "metamask.io".',
    );
    expect(sentence('good.example')).toBe('"good.example" is allowed: the source allowed has it on its allowlist.');
    expect(sentence('someone.github.io')).toBe(
      '"github.io" is listed, but anybody can publish there, so nothing is known of "someone.github.io" itself.',
    );
    expect(sentence('stranger.example')).toBe(
      'No source lists "stranger.example", which says nothing for or against it.',
    );
    expect(sentence('@somebody')).toBe('No source lists "somebody", which says nothing for or against it.');
    expect(sentence(`sites.google.com/view/${'x'.repeat(4_000)}`).length).toBeLessThan(250);
  });

  it('is of an unsupported type where every source that is asked says so', async () => {
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

  it('does not fail because a source does', async () => {
    const good = await list('good', 'plain', 'evil.example');
    const broken = await list('broken', 'plain', 'evil.example');
    Object.assign((broken.of as { list: ListSource }).list, {
      ask: () => {
        throw new Error('broken');
      },
    });
    expect(answerOf([own, broken, good], 'evil.example')).toMatchObject({
      status: 'BLOCKED',
      source: 'good',
      sources: [{ source: 'own' }, { source: 'broken', status: 'UNKNOWN', reason: 'source-error' }, { source: 'good' }],
    });
  });

  it('that fails itself says so, and nothing else', async () => {
    const check = new AssetCheck([own], 100);
    // Nothing that is sent makes it fail, so it is made to.
    Object.assign(check, { answer: () => JSON.parse('{') as never });
    expect(check.check('evil.example')).toEqual({
      status: 'UNKNOWN',
      source: 'own',
      sources: [{ source: 'own', status: 'UNKNOWN', mode: 'ENABLED' }],
      message: 'The check itself failed, so nothing is said for or against this asset.',
      code: 'internal-error',
    });
  });
});
