import { describe, expect, it } from '@jest/globals';
import { assetKey } from '../../src/assets/asset-key.js';
import { isCarrier } from '../../src/assets/carriers/carrier-forms.js';
import { isInternalHost } from '../../src/assets/ip-address.js';
import { isPublishingHost } from '../../src/assets/pages/page.js';
import { parseContent } from '../../src/assets/parse-content.js';
import { Random } from '../support/random.js';
import { webAddressSpelling } from './web-address-spellings.js';
import { sized } from '../support/full-size.js';

const SPELLINGS = sized(1_000, 200_000);

/** Of such hosts, a report of type URL concerns what its link names. */
const isOfManyPeople = (host: string): boolean => isPublishingHost(host) || isCarrier(host);

/** Returns the normalized host that the URL parser finds; undefined if it finds none. */
const hostOfUrlParser = (spelling: string): string | undefined => {
  if (!URL.canParse(spelling)) return undefined;
  const { protocol, hostname } = new URL(spelling);
  if (protocol !== 'http:' && protocol !== 'https:') return undefined;
  // Mapped, translated (NAT64) and compatible addresses become the IPv4 address.
  const [, high = '0', low] = /^\[(?:::ffff:|64:ff9b::|::(?!1\]))(?:(\w+):)?(\w+)\]$/.exec(hostname) ?? [];
  if (low !== undefined)
    return [high, low].flatMap((part) => [Number.parseInt(part, 16) >> 8, Number.parseInt(part, 16) & 255]).join('.');
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
      if (host === undefined) {
        parseContent(spelling);
        continue;
      }
      found += 1;
      const key = assetKey({ type: 'URL', content: spelling });
      // A host that can be no DNS name is read without the punctuation at its end, or as a defanged one. Of punycode that
      // has only ASCII letters, the versions of the URL parser differ.
      if (/[^a-z0-9_.:[\]-]|\.$|xn--[^.]*-(?:\.|$)/.test(host)) continue;
      const isKey = key === `URL:${host}` || (isOfManyPeople(host) && !key.startsWith('URL:'));
      // The lines of a text around an internal host may name others, which can only block.
      const isInternal = !host.includes('.') || isInternalHost(host, true);
      const isInText = isInternal && parseContent(spelling).parsed?.isUncertain === true;
      if ((checkedHost(spelling) !== host && !isInText) || !isKey)
        wrong.push({ spelling, host, checkedHost: checkedHost(spelling), key });
    }
    expect(wrong).toEqual([]);
    expect(found).toBeGreaterThan(SPELLINGS / 3);
  }, 600_000);
});
