import { describe, expect, it } from '@jest/globals';
import { lookUp } from '../../docs/examples/local-list.js';
import { AssetChecker } from '../../src/asset-check/asset-checker.js';
import type { AssetCheckResponse } from '../../src/asset-check/asset-check.dto.js';
import { Guards } from '../../src/asset-check/lists/guards.js';
import { KeptLists } from '../../src/lists/build/kept-lists.js';
import { SuffixIndex } from '../../src/lists/build/suffixes.js';
import type { Half } from '../../src/lists/expressions.js';
import { guardOf, sourcesOf, suffixes, type TestList } from '../asset-check/checker-of.js';
import { seeds } from '../support/full-size.js';
import { Maker, randomFrom } from './worlds.js';

const index = new SuffixIndex(suffixes);
const CONTENTS = 200;

/** A world, the expressions of its lists, and its contents with the status by the check. */
const prepare = async (seed: number, isOwn: boolean) => {
  const maker = new Maker(randomFrom(seed));
  const world = maker.world();
  const guards = await Promise.all(world.guarded.map((host, n) => guardOf(host, 'plain', `g${n}`).catch(() => [])));
  const all = await sourcesOf(world.statuses, world.lists, guards.flat());
  const has = { list: new Set<string>(), ask: new Set<string>() };
  await new KeptLists(all, index, new Guards(guards.flat())).emitTo((half, one) => has[half].add(one));
  const sources = isOwn ? all.slice(0, 1) : all;
  if (isOwn) {
    has.list.clear();
    await new KeptLists(sources, index, new Guards()).emitTo((half, one) => half === 'list' && has.list.add(one));
  }
  const checker = new AssetChecker(sources, 1_000);
  const contents = Array.from({ length: CONTENTS }, () => maker.content());
  const statuses = contents.map((content) => (checker.check(content, 'acme') as AssetCheckResponse).status);
  return { world: { seed, ...world }, has, contents, statuses };
};

type Prepared = Awaited<ReturnType<typeof prepare>>;

/** @param dropped expressions that are ignored */
const compare = ({ world, has, contents, statuses }: Prepared, dropped = /^$/) => {
  const found = { wrong: [] as unknown[], asked: 0, blocked: 0 };
  for (const [n, content] of contents.entries()) {
    const list = lookUp(content, (half: Half, one) => has[half].has(one) && !dropped.test(one));
    const check = statuses[n];
    if (check === 'BLOCKED') found.blocked += 1;
    if (list === 'ASK') found.asked += 1;
    else if ((list === 'LISTED') !== (check === 'BLOCKED')) found.wrong.push({ content, list, check, world });
  }
  return found;
};

/** Returns a function that looks up contents in local lists made of these lists. */
const lookUpIn = async (lists: readonly TestList[]): Promise<(content: string) => string> => {
  const sources = await sourcesOf([], lists, []);
  const has = { list: new Set<string>(), ask: new Set<string>() };
  await new KeptLists(sources, index, new Guards()).emitTo((half, one) => has[half].add(one));
  return (content) => lookUp(content, (half, one) => has[half].has(one));
};

describe('local lists', () => {
  it('ask about a page on hosts below of which a rule allows some', async () => {
    const look = await lookUpIn([
      { format: 'adblock', text: 'filler.example\n@@||ad*.evil.example^' },
      { text: 'evil.example/p' },
    ]);
    expect(['ads.evil.example/p', 'b.evil.example/p', 'evil.example'].map(look)).toEqual(['ASK', 'ASK', 'NOT_LISTED']);
  });

  it('ask about a page on hosts below that may imitate another host', async () => {
    const config = { tolerance: 1, fuzzylist: ['b.wallet.com'], blacklist: ['walet.com/p', 'evil.example/p'] };
    const look = await lookUpIn([{ format: 'metamask', text: JSON.stringify(config) }]);
    const contents = ['b.walet.com/p', 'b.walet.com', 'evil.example/p', 'b.evil.example/p'];
    expect(contents.map(look)).toEqual(['ASK', 'LISTED', 'LISTED', 'NOT_LISTED']);
  });

  it.each([false, true])(
    'say what the check says, or to ask (own statuses only: %s)',
    async (isOwn) => {
      const wrong: unknown[] = [];
      let [asked, blocked, contents] = [0, 0, 0];
      for (const seed of seeds(20, 2_500)) {
        const found = compare(await prepare(seed, isOwn));
        wrong.push(...found.wrong);
        asked += found.asked;
        blocked += found.blocked;
        contents += CONTENTS;
      }
      expect(wrong.slice(0, 3)).toEqual([]);
      expect(asked).toBeLessThan(contents / 2);
      expect(blocked).toBeGreaterThan(contents / 50);
    },
    1_200_000,
  );

  const worlds: Promise<readonly Prepared[]> = Promise.all(
    Array.from({ length: 150 }, (_, n) => prepare(n + 1, false)),
  );

  it.each([
    ['a host alone is not blocked', /^!=[^/]+\/$/],
    ['a host alone is blocked', /^=[^/]+\/$/],
    ['what is below is not blocked', /^![^=@/]+\/$/],
    ['mailboxes are not blocked', /^!@/],
    ['a page alone', /^=.+\$$/],
    ['pages below a page', /^=[^/]+\/.+\/$/],
    ['pages on hosts below', /^\*/],
    ['a page alone is not blocked', /^!=.+\$$/],
    ['a mailbox is not blocked', /^!EMAIL:/],
    ['a range', /^v/],
    ['a range in another is not blocked', /^!v/],
    ['imitations', /^~/],
    ['pages that the service reads', /\/\*$/],
    ['hosts of proxies', /^(?:translate\.goog|mcas\.ms)\/$/],
  ])('disagree without what says: %s', async (_, dropped) => {
    const wrong = (await worlds).flatMap((world) => compare(world, dropped).wrong);
    expect(wrong.length).toBeGreaterThan(0);
  });
});
