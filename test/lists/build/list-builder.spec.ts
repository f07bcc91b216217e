import { describe, expect, it } from '@jest/globals';
import { hashOf } from '../../../docs/examples/local-list.js';
import type { Guards } from '../../../src/asset-check/lists/guards.js';
import type { Source } from '../../../src/asset-check/sources/sources.js';
import { GUARDS } from '../../../src/lists/built-lists.js';
import { HashCollector } from '../../../src/lists/build/hash-set.js';
import { ListBuilder } from '../../../src/lists/build/list-builder.js';
import { SuffixIndex } from '../../../src/lists/build/suffixes.js';
import { sourcesOf, suffixes } from '../../asset-check/checker-of.js';
import { listOf } from '../random-hashes.js';

const has = (list: Uint8Array, expression: string): boolean => {
  const hash = listOf([hashOf(expression)]);
  for (let at = 0; at < list.length; at += 8) if (Buffer.compare(hash, list.subarray(at, at + 8)) === 0) return true;
  return false;
};

describe('ListBuilder', () => {
  it('has own statuses in both lists, and lists that may be passed on in one', async () => {
    const [own, passed, kept] = await sourcesOf(
      ['BLOCKED URL own.example'],
      [{ text: 'passed.example' }, { text: 'kept.example' }],
      [],
    );
    const http = { id: 'partner', mode: 'ENABLED', of: { kind: 'http', lookUp: {} } } as unknown as Source;
    const sources = [own!, passed!, { ...kept!, redistribute: false }, http];
    const { lists, covers, notCovered } = (await new ListBuilder(sources, suffixes).build(1))!;
    const [all, ofOwn] = [lists.get('all-8b')!, lists.get('own-8b')!];
    expect(covers).toEqual(['own', 'l0']);
    expect(notCovered).toEqual([
      { source: 'l1', reason: 'not-redistributed' },
      { source: 'partner', reason: 'lookups' },
    ]);
    const hosts = ['own.example/', 'passed.example/', 'kept.example/'];
    expect(hosts.map((one) => [has(all, one), has(ofOwn, one)])).toEqual([
      [true, true],
      [true, false],
      [false, false],
    ]);
    expect(has(lists.get('ask-8b')!, 'facebook.com/*')).toBe(true);
  });

  it('publishes nothing of a list that was replaced during the build', async () => {
    const sources = await sourcesOf([], [{ text: 'one.example' }], []);
    const [, replaced] = await sourcesOf([], [{ text: 'two.example' }], []);
    const builder = new ListBuilder(sources, suffixes);
    const ended = builder.build(1);
    const [, source] = sources as readonly { of: { kind: string; list: { listed: unknown } } }[];
    const { list } = replaced!.of as unknown as { list: { listed: unknown } };
    Object.defineProperty(source!.of.list, 'listed', { value: list.listed });
    expect(await ended).toBeUndefined();
    const { lists } = (await builder.build(1))!;
    expect(has(lists.get('all-8b')!, 'two.example/')).toBe(true);
  });

  it('names sources that were never read', async () => {
    const [own] = await sourcesOf([], [], []);
    const unread = { id: 'unread', mode: 'ENABLED', redistribute: true, of: { kind: 'list', list: {} } } as Source;
    expect((await new ListBuilder([own!, unread], suffixes).build(1))!.unread).toEqual(['unread']);
    const guards = { version: 1, areLoaded: false, hosts: () => [] as string[] } as unknown as Guards;
    expect((await new ListBuilder([own!], suffixes, guards).build(1))!.unread).toEqual([GUARDS]);
  });

  it('says that imitations with more than one edit are not covered', async () => {
    const text = JSON.stringify({ tolerance: 2, fuzzylist: ['wallet.example'], blacklist: ['evil.example'] });
    const sources = await sourcesOf([], [{ format: 'metamask', text }], []);
    const { lists, covers, notCovered } = (await new ListBuilder(sources, suffixes).build(1))!;
    expect(covers).toEqual(['own', 'l0']);
    expect(notCovered).toEqual([{ source: 'l0', reason: 'imitations' }]);
    expect([has(lists.get('all-8b')!, 'evil.example/'), has(lists.get('all-8b')!, '~wallet')]).toEqual([true, false]);
  });
});

describe('HashCollector', () => {
  it('sorts the hashes, and has each once', async () => {
    const collector = new HashCollector();
    const expressions = Array.from({ length: 9_000 }, (_, n) => `h${n % 8_500}.example/`);
    for (const [n, expression] of expressions.entries()) collector.add(expression, n % 8_500);
    const { hashes } = await collector.sorted();
    expect(Buffer.compare(hashes, listOf(expressions.map(hashOf)))).toBe(0);
  });
});

describe('SuffixIndex', () => {
  it('has the suffixes by which lists are checked', () => {
    const index = new SuffixIndex(suffixes);
    const names = [...index.exact].filter((name) => name.split('.').length > 1);
    const others = names.filter((name) => suffixes.boundaryOf(`x.${name}`).suffix !== name);
    // Exceptions of the Public Suffix List, and names below which every name is a suffix.
    expect(others.filter((name) => !index.mayBe(name.slice(name.indexOf('.') + 1)) && !index.wild.has(name))).toEqual(
      [],
    );
    expect(names.length).toBeGreaterThan(9_000);
    for (const name of index.wild) {
      if (index.exact.has(`_0.${name}`)) continue;
      expect(suffixes.boundaryOf(`x._0.${name}`).suffix).toBe(`_0.${name}`);
    }
    expect(names.some((name) => name.includes('*'))).toBe(false);
  });
});
