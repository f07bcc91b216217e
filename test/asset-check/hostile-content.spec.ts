import { describe, expect, it } from '@jest/globals';
import { assetKey } from '../../src/assets/asset-key.js';
import { parseContent } from '../../src/assets/parse-content.js';
import { hostileContents } from '../assets/hostile-shapes.js';
import { listOf } from './asking.js';

const LONGEST = 4_096;

/** The least of many runs, in ms: what the work takes, whatever else the machine does. */
const leastOf = (work: () => void): number => {
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 40 && least > 0.2; run += 1) {
    const started = performance.now();
    work();
    least = Math.min(least, performance.now() - started);
  }
  return least;
};

describe('hostile content', () => {
  it.each(hostileContents(LONGEST).map(([name, content]) => ({ name, content })))(
    'of $name is read within a millisecond',
    ({ content }) => {
      expect(leastOf(() => parseContent(content))).toBeLessThan(1);
      for (const type of ['URL', 'PAGE', 'ADDRESS', 'EMAIL', 'IPFS', 'TWITTER', 'NEW'])
        expect(leastOf(() => assetKey({ type, content }))).toBeLessThan(1);
    },
  );

  it('is asked of a list within a millisecond', async () => {
    const entries = ['evil.example', ...Array.from({ length: 126 }, (_, n) => `${'a.'.repeat(n)}b.example`)];
    const fuzzy = Array.from({ length: 500 }, (_, n) => `${'metamask'.repeat(8).slice(0, 20 + (n % 40))}${n}.io`);
    const { ask } = await listOf(JSON.stringify({ blocklist: entries, fuzzylist: fuzzy, tolerance: 3 }), 'metamask');
    for (const [, content] of hostileContents(LONGEST)) expect(leastOf(() => ask(content))).toBeLessThan(1);
  });
});
