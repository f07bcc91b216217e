import { describe, expect, it } from '@jest/globals';
import { ALLOWED, BLOCKED, HostTableBuilder, SuffixHashes } from '../../../src/asset-check/lists/host-table.js';
import { Random } from '../../support/random.js';

const hashes = new SuffixHashes();

describe('HostTable', () => {
  it('finds exactly the added entries, as a set of texts does', async () => {
    const random = new Random(1);
    const label = (): string => random.int(60).toString(36) + (random.chance(0.5) ? 'x' : '');
    const host = (): string => Array.from({ length: 2 + random.int(3) }, label).join('.');
    const entries = Array.from({ length: 20_000 }, host);
    const builder = new HostTableBuilder();
    for (const entry of entries) builder.add(entry, BLOCKED);
    const table = await builder.build();
    const set = new Set(entries);
    expect(table.size).toBe(set.size);
    let hits = 0;
    const wrong: string[] = [];
    for (const name of [...entries, ...Array.from({ length: 20_000 }, host)]) {
      hashes.read(name, true);
      for (let index = 0; index < hashes.count; index += 1) {
        const start = hashes.starts[index]!;
        const isListed = set.has(name.slice(start));
        if (isListed) hits += 1;
        const found = table.find(name, start, hashes.hashes[index]!);
        if (found !== (isListed ? BLOCKED : 0)) wrong.push(`${name.slice(start)}: ${found}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(hits).toBeGreaterThan(20_000);
  });

  it('compares texts with equal hashes character by character', async () => {
    const builder = new HostTableBuilder();
    builder.add('evil.example', BLOCKED);
    const table = await builder.build();
    hashes.read('evil.example', true);
    const hash = hashes.hashes[hashes.count - 1]!;
    expect(table.find('evil.example', 0, hash)).toBe(BLOCKED);
    expect(table.find('evil.exampla', 0, hash)).toBe(0);
    expect(table.find('evil.exampl', 0, hash)).toBe(0);
  });

  it('combines the flags of an entry that was added twice', async () => {
    const builder = new HostTableBuilder();
    builder.add('same.example', BLOCKED);
    builder.add('same.example', ALLOWED);
    const table = await builder.build();
    hashes.read('same.example', true);
    expect(table.find('same.example', 0, hashes.hashes[hashes.count - 1]!)).toBe(BLOCKED | ALLOWED);
    expect(table.size).toBe(1);
  });

  it('takes about 12 bytes per entry in addition to the text', async () => {
    const builder = new HostTableBuilder();
    const entries = Array.from({ length: 50_000 }, (_, index) => `site-number-${index}.example`);
    for (const entry of entries) builder.add(entry, BLOCKED);
    const table = await builder.build();
    expect((table.bytes - entries.join('').length) / table.size).toBeLessThan(13);
  });

  it('is searched for each suffix of a host that has at least two labels, but only for the whole text of an IP address', () => {
    const suffixes = (text: string, withParents: boolean): string[] => {
      hashes.read(text, withParents);
      return Array.from({ length: hashes.count }, (_, index) => text.slice(hashes.starts[index]));
    };
    expect(suffixes('a.b.evil.example', true)).toEqual(['evil.example', 'b.evil.example', 'a.b.evil.example']);
    expect(suffixes('evil.example', true)).toEqual(['evil.example']);
    expect(suffixes('8.8.8.8', false)).toEqual(['8.8.8.8']);
    expect(suffixes(`${'a.'.repeat(126)}a`, true)).toHaveLength(126);
  });
});
