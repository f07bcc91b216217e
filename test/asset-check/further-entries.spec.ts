import { describe, expect, it } from '@jest/globals';
import { Maker, randomFrom } from '../lists/worlds.js';
import { seeds } from '../support/full-size.js';
import { checkerOf, guardOf, type TestList } from './checker-of.js';

const CONTENTS = 100;

const listOf = (entries: readonly string[]): TestList => ({ text: ['filler.example', ...entries].join('\n') });

describe('A further entry of a list that blocks', () => {
  it('never leads to less being blocked', async () => {
    const freed: unknown[] = [];
    let blocked = 0;
    for (const seed of seeds(150, 8_000)) {
      const maker = new Maker(randomFrom(seed));
      const { statuses, lists, guarded } = maker.world();
      const guards = (
        await Promise.all(guarded.map((host, n) => guardOf(host, 'plain', `g${n}`).catch(() => [])))
      ).flat();
      const entries = Array.from({ length: 4 }, () => maker.entry(true));
      const before = await checkerOf(statuses, [listOf(entries.slice(0, 2)), ...lists], guards);
      const after = await checkerOf(statuses, [listOf(entries), ...lists], guards);
      for (const content of Array.from({ length: CONTENTS }, () => maker.content())) {
        if (before(content).status !== 'BLOCKED') continue;
        blocked += 1;
        const { status } = after(content);
        if (status !== 'BLOCKED') freed.push({ seed, content, status, entries, statuses, lists, guarded });
      }
    }
    expect(freed.slice(0, 3)).toEqual([]);
    expect(blocked).toBeGreaterThan(100);
  }, 600_000);

  it.each<[string, TestList, string]>([
    ['a blocked host', listOf(['evil.example', 'evil.example/p']), 'evil.example'],
    [
      'an imitation',
      {
        format: 'metamask',
        text: JSON.stringify({ fuzzylist: ['wallet.io'], blacklist: ['walet.io/p', 'x.example'], tolerance: 1 }),
      },
      'walet.io',
    ],
  ])('for a page does not weaken %s against a list that allows the host', async (_, list, host) => {
    const check = await checkerOf([], [list, { verdict: 'ALLOWED', text: `${host}\n` }]);
    for (const content of [host, `${host}/p`, `${host}/p/q`, `${host}/q`])
      expect([content, check(content).status]).toEqual([content, 'BLOCKED']);
  });
});
