import { describe, expect, it } from '@jest/globals';
import { assetKey } from '../../src/assets/asset-key.js';
import { parseLocation } from '../../src/assets/location.js';

const hostOf = (name: string): string | undefined => parseLocation(`https://${name}/`)?.host;

/**
 * The expected hosts follow Unicode 17. The URL parser of Node 20 follows Unicode 15.0: it rejects the first four hosts
 * and turns the capital sharp s into "ss". The specs run on several versions of Node, and all must return these hosts.
 */
const HOSTS: readonly (readonly [string, string | undefined])[] = [
  ['\u04c0edger.example', 'xn--edger-dof.example'],
  ['\u2183.example', 'xn--r5g.example'],
  ['\u10a0.example', 'xn--rkj.example'],
  ['\u{323b0}.example', 'xn--031o.example'],
  ['GIE\u1e9e.example', 'xn--gie-7ka.example'],
  ['\uff11.2.3.4', '1.2.3.4'],
  ['\uff45vil\u3002example', 'evil.example'],
  ['e\u00advil\u200b.example', 'evil.example'],
  ['m%C3%BCnchen.example:8080', 'xn--mnchen-3ya.example'],
  // Characters that map to a character that ends the host, and their percent escapes.
  ['a\uff0fb.example', undefined],
  ['a\uff05b.example', undefined],
  ['\u00fc%3A80.example', undefined],
  ['\u00fc%2Fb.example', undefined],
  ['\u00fc b.example', undefined],
  ['\u00fc.example:65536', undefined],
  // Rules for labels: joiners out of place, a mark at the beginning, punycode beside letters. Directions may mix.
  ['a\u200db.example', undefined],
  ['\u05d0a.\u00fc.example', 'xn--a-zhc.xn--tda.example'],
  ['a\u05d0.example', 'xn--a-0hc.example'],
  ['\u0301a.example', undefined],
  ['\u00fc.xn--a.example', undefined],
  // An ASCII name is not changed, even if its punycode is invalid, so that the Node version does not matter.
  ['XN--A.example', 'xn--a.example'],
  ['xn--a!b.example', 'xn--a!b.example'],
  ['xn--a.1', undefined],
];

describe('A host', () => {
  it.each(HOSTS)('written as %j is normalized to %j on every version of Node', (name, host) => {
    expect(hostOf(name)).toBe(host);
  });

  it('has the same key in upper and lower case', () => {
    for (const [upper, lower] of [
      ['\u04c0edger.example', '\u04cfedger.example'],
      ['\u2183.example', '\u2184.example'],
      ['GIE\u1e9e.example', 'gie\u00df.example'],
      ['\u10a0.example', '\u2d00.example'],
    ] as const)
      for (const type of ['URL', 'PAGE'])
        expect(assetKey({ type, content: upper })).toBe(assetKey({ type, content: `https://${lower}/` }));
  });
});
