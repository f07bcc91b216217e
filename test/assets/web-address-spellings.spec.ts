import { describe, expect, it } from '@jest/globals';
import { assetKey } from '../../src/assets/asset-key.js';
import { isPublishingHost } from '../../src/assets/pages/page.js';
import { parseContent } from '../../src/assets/parse-content.js';
import { Random } from '../support/random.js';
import { webAddressSpelling } from './web-address-spellings.js';
import { sized } from '../support/full-size.js';

const SPELLINGS = sized(1_000, 200_000);

/** Matches defanged characters. Only for these, the parser differs intentionally from the URL parser. */
const IS_DEFANGED = /[[({](?:\.|dot|:|\/|@|at)[\])}]|\[\.|\.\]/i;

/** Returns the normalized host that the URL parser finds; undefined if it finds none. */
const hostOfUrlParser = (spelling: string): string | undefined => {
  if (!URL.canParse(spelling)) return undefined;
  const { protocol, hostname } = new URL(spelling);
  if (protocol !== 'http:' && protocol !== 'https:') return undefined;
  // Mapped, translated (NAT64) and compatible addresses become the IPv4 address.
  const [, high, low] = /^\[(?:::ffff:|64:ff9b::|::)(\w+):(\w+)\]$/.exec(hostname) ?? [];
  if (high !== undefined)
    return [high, low!].flatMap((part) => [Number.parseInt(part, 16) >> 8, Number.parseInt(part, 16) & 255]).join('.');
  return hostname.length > 1 ? hostname.replace(/\.$/, '') : hostname;
};

const checkedHost = (spelling: string): string | undefined => {
  const content = parseContent(spelling);
  if (content.parsed !== undefined) return content.parsed.host;
  return content.code === 'internal-scheme' ? content.internalAddress.name : undefined;
};

describe('A text that the URL parser accepts as a web address', () => {
  it(`is checked by the host that the URL parser finds, in ${SPELLINGS.toLocaleString('en-US')} random spellings`, () => {
    const random = new Random(20);
    let found = 0;
    const wrong = [];
    for (let n = 0; n < SPELLINGS && wrong.length < 10; n += 1) {
      const spelling = webAddressSpelling(random);
      const host = hostOfUrlParser(spelling);
      if (host === undefined || IS_DEFANGED.test(spelling.replace(/[\t\n\r]/g, ''))) {
        parseContent(spelling);
        continue;
      }
      found += 1;
      const key = assetKey({ type: 'URL', content: spelling });
      // A host that can be no DNS name is read without the punctuation at its end.
      if (/[^a-z0-9_.:[\]-]/.test(host)) continue;
      // On a host of many people, a link is what it names there.
      const isKey = key === `URL:${host}` || (isPublishingHost(host) && !key.startsWith('URL:'));
      if (checkedHost(spelling) !== host || !isKey)
        wrong.push({ spelling, host, checkedHost: checkedHost(spelling), key });
    }
    expect(wrong).toEqual([]);
    expect(found).toBeGreaterThan(SPELLINGS / 3);
  }, 600_000);
});
