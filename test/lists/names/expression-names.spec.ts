import { describe, expect, it } from '@jest/globals';
import { AssetChecker } from '../../../src/asset-check/asset-checker.js';
import type { AssetCheckResponse } from '../../../src/asset-check/asset-check.dto.js';
import { Guards } from '../../../src/asset-check/lists/guards.js';
import { KeptLists } from '../../../src/lists/build/kept-lists.js';
import { SuffixIndex } from '../../../src/lists/build/suffixes.js';
import { withParents } from '../../../src/lists/expressions.js';
import { namedExpression } from '../../../src/lists/names/expression-names.js';
import { guardOf, sourcesOf, suffixes } from '../../asset-check/checker-of.js';
import { seeds } from '../../support/full-size.js';
import { Maker, randomFrom } from '../worlds.js';

const index = new SuffixIndex(suffixes);
const CONTENTS = 200;

/** The named expressions of a world, as clients that know no exceptions of ours find them. */
const namesOf = async (seed: number) => {
  const maker = new Maker(randomFrom(seed));
  const world = maker.world();
  const guards = await Promise.all(world.guarded.map((host, n) => guardOf(host, 'plain', `g${n}`).catch(() => [])));
  const sources = await sourcesOf(world.statuses, world.lists, guards.flat());
  const [blocked, excepted] = [new Set<string>(), new Set<string>()];
  await new KeptLists(sources, index, new Guards(guards.flat())).emitTo((half, expression) => {
    const named = namedExpression(half, expression);
    if (named?.isException === true) excepted.add(named.host);
    else if (named !== undefined) blocked.add(expression);
  });
  const checker = new AssetChecker(sources, 1_000);
  const links = Array.from({ length: CONTENTS }, () => maker.content()).flatMap((content) => {
    const text = /^[a-z]+:/i.test(content) ? content : `https://${content}`;
    return /^https?:/i.test(text) && URL.canParse(text) ? [text] : [];
  });
  return { seed, world, blocked, excepted, checker, links };
};

type Named = Awaited<ReturnType<typeof namesOf>>;

/** The paths that a client of Safe Browsing looks up: the whole path, and up to four folders. */
const pathsOf = ({ pathname, search }: URL): string[] => {
  const folders = pathname.split('/').slice(1, -1);
  const above = Array.from({ length: Math.min(folders.length + 1, 4) }, (_, n) =>
    ['', ...folders.slice(0, n), ''].join('/'),
  );
  return [pathname + search, pathname, ...above];
};

const hostsOf = ({ hostname }: URL): string[] => {
  const host = hostname.replace(/\.$/, '');
  return /^[\d.]+$/.test(host) ? [host] : [host, ...withParents(host).slice(-4)];
};

const isFoundBySafeBrowsing = ({ blocked, excepted }: Named, link: URL): boolean =>
  hostsOf(link).some((host) =>
    pathsOf(link).some(
      (path) => blocked.has(host + path) && ![...excepted].some((one) => one === host || one.endsWith(`.${host}`)),
    ),
  );

const isFoundByMetaMask = ({ blocked, excepted }: Named, { hostname }: URL): boolean => {
  const hosts = [hostname, ...withParents(hostname)];
  return !hosts.some((host) => excepted.has(host)) && hosts.some((host) => blocked.has(`${host}/`));
};

type Client = typeof isFoundByMetaMask;

const compare = (named: Named, isFound: Client) => {
  const wrong: unknown[] = [];
  let [found, missed] = [0, 0];
  for (const text of named.links) {
    const { status } = named.checker.check(text, 'acme') as AssetCheckResponse;
    const isBlocked = isFound(named, new URL(text));
    if (isBlocked && status !== 'BLOCKED') wrong.push({ seed: named.seed, text, status, world: named.world });
    if (isBlocked) found += 1;
    else if (status === 'BLOCKED') missed += 1;
  }
  return { wrong, found, missed };
};

describe('The names of local lists', () => {
  it.each([
    ['Safe Browsing', isFoundBySafeBrowsing],
    ["MetaMask's controller", isFoundByMetaMask],
  ])(
    'lead a client of %s to block nothing that the check does not block',
    async (_, isFound) => {
      const wrong: unknown[] = [];
      let [found, missed] = [0, 0];
      for (const seed of seeds(40, 2_500)) {
        const result = compare(await namesOf(seed), isFound);
        wrong.push(...result.wrong);
        found += result.found;
        missed += result.missed;
      }
      expect(wrong.slice(0, 3)).toEqual([]);
      // The worlds have far more exceptions than real lists.
      expect(found).toBeGreaterThan(missed / 20);
    },
    1_200_000,
  );

  it.each(['m.facebook.com/', 'evil.mimecast.com/', 'sites.google.com/'])(
    'do not have %s, because only the service reads the pages there',
    (expression) => expect(namedExpression('list', expression)).toBeUndefined(),
  );

  it('do not have an endpoint of OAuth, because it is not blocked for its clients', () => {
    expect(namedExpression('list', 'evil.example/oauth/authorize')).toBeUndefined();
    expect(namedExpression('list', 'evil.example/p/q')).toMatchObject({ key: 'PAGE:evil.example/p/q' });
    expect(namedExpression('list', '!=evil.example/oauth/authorize$')).toMatchObject({ isException: true });
  });

  it.each([
    ['Safe Browsing', isFoundBySafeBrowsing],
    ["MetaMask's controller", isFoundByMetaMask],
  ])('would block too much without exceptions: %s', async (_, isFound) => {
    let wrong = 0;
    for (let seed = 1; seed <= 40; seed += 1)
      wrong += compare({ ...(await namesOf(seed)), excepted: new Set() }, isFound).wrong.length;
    expect(wrong).toBeGreaterThan(0);
  });
});
