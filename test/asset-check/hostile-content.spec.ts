import { describe, expect, it } from '@jest/globals';
import { assetKey } from '../../src/assets/asset-key.js';
import { parseContent } from '../../src/assets/parse-content.js';
import { hostileContents } from '../support/cases/hostile-shapes.js';
import { forgetLastTwo } from '../support/forget-last-two.js';
import { listOf } from '../support/list-of.js';

const LONGEST = 4_096;

/** Returns the duration in ms of the fastest of up to 40 runs, so that other load on the machine does not matter. */
const fastestRunMs = (work: () => void, enoughMs = 1): number => {
  let fastestMs = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 40 && fastestMs > enoughMs; run += 1) {
    forgetLastTwo();
    const started = performance.now();
    work();
    fastestMs = Math.min(fastestMs, performance.now() - started);
  }
  return fastestMs;
};

/** As many labels of a foreign script as a name has: the slowest content that is no attack. */
const LONGEST_NAME = `https://${'é.'.repeat(124)}com`;
/** Four times what this machine takes now to parse that name, in ms. A quadratic algorithm takes longer. */
const limitMs = (): number => 4 * fastestRunMs(() => parseContent(LONGEST_NAME), 0);
const LIMIT = limitMs();

describe('Hostile content', () => {
  it.each(hostileContents(LONGEST))(
    'with %s is parsed within four times the time of the longest name',
    (_, content) => {
      expect(fastestRunMs(() => parseContent(content))).toBeLessThan(LIMIT);
      for (const type of ['URL', 'PAGE', 'ADDRESS', 'EMAIL', 'IPFS', 'TWITTER', 'NEW'])
        expect(fastestRunMs(() => assetKey({ type, content }))).toBeLessThan(LIMIT);
    },
  );

  it('is looked up in a list within four times the time of the longest name', async () => {
    const entries = ['evil.example', ...Array.from({ length: 126 }, (_, n) => `${'a.'.repeat(n)}b.example`)];
    const fuzzy = Array.from({ length: 500 }, (_, n) => `${'metamask'.repeat(8).slice(0, 20 + (n % 40))}${n}.io`);
    const { check } = await listOf(JSON.stringify({ blocklist: entries, fuzzylist: fuzzy, tolerance: 3 }), 'metamask');
    // The speed of the machine may have changed since the limit of the other tests was measured.
    const limit = limitMs();
    for (const [, content] of hostileContents(LONGEST)) expect(fastestRunMs(() => check(content))).toBeLessThan(limit);
  });
});
