import { describe, expect, it } from '@jest/globals';
import { assetKey } from '../../src/assets/asset-key.js';
import { parseContent } from '../../src/assets/parse-content.js';
import { Random } from '../support/random.js';
import { webForm } from './web-forms.js';

const FORMS = Number(process.env['WEB_FORMS'] ?? 8_000);

/** Defanged characters, which are refanged: the only intended difference to the URL parser. */
const IS_DEFANGED = /[[({](?:\.|dot|:|\/|@|at)[\])}]|\[\.|\.\]/i;

/** Returns the normalized host that the URL parser finds; undefined if it finds none. */
const opened = (form: string): string | undefined => {
  if (!URL.canParse(form)) return undefined;
  const { protocol, hostname } = new URL(form);
  if (protocol !== 'http:' && protocol !== 'https:') return undefined;
  // Mapped, translated (NAT64) and compatible addresses become the IPv4 address.
  const [, high, low] = /^\[(?:::ffff:|64:ff9b::|::)(\w+):(\w+)\]$/.exec(hostname) ?? [];
  if (high !== undefined)
    return [high, low!].flatMap((part) => [Number.parseInt(part, 16) >> 8, Number.parseInt(part, 16) & 255]).join('.');
  return hostname.length > 1 ? hostname.replace(/\.$/, '') : hostname;
};

const checked = (form: string): string | undefined => {
  const content = parseContent(form);
  if (content.parsed !== undefined) return content.parsed.host;
  return content.code === 'internal-scheme' ? content.internalAddress.name : undefined;
};

describe('A text that the URL parser accepts as a web address', () => {
  it(`is checked under the host that the URL parser finds, in ${FORMS.toLocaleString('en-US')} random spellings`, () => {
    const random = new Random(20);
    let found = 0;
    const wrong = [];
    for (let n = 0; n < FORMS && wrong.length < 10; n += 1) {
      const form = webForm(random);
      const host = opened(form);
      if (host === undefined || IS_DEFANGED.test(form.replace(/[\t\n\r]/g, ''))) {
        parseContent(form);
        continue;
      }
      found += 1;
      const key = assetKey({ type: 'URL', content: form });
      if (checked(form) !== host || key !== `URL:${host}`) wrong.push({ form, host, checked: checked(form), key });
    }
    expect(wrong).toEqual([]);
    expect(found).toBeGreaterThan(FORMS / 3);
  }, 600_000);
});
