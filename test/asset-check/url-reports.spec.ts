import { describe, expect, it } from '@jest/globals';
import { assetKey } from '../../src/assets/asset-key.js';
import { parseContent } from '../../src/assets/parse-content.js';
import { patternOf } from '../../src/records/taxii/objects.js';
import { URL_LINKS, URLS_OF_HOSTS } from '../support/cases/url-links.js';
import { checkerOf } from './checker-of.js';

/** The host of the link itself. */
const hostOf = (link: string): string => /^[a-z]+:\/\/([^/?#]+)/.exec(link)![1]!.replaceAll(/[[\]]/g, '');

describe('A report of type URL', () => {
  it.each(URL_LINKS)('has the key of what the link names, under which a check finds it: $link', ({ link, key }) => {
    expect(assetKey({ type: 'URL', content: link })).toBe(key);
    expect(parseContent(link).parsed!.keys).toContain(key);
    const colon = key.indexOf(':');
    expect(assetKey({ type: key.slice(0, colon), content: key.slice(colon + 1) })).toBe(key);
  });

  it.each(URL_LINKS)('blocks what the link names, and nothing else on the host: $link', async ({ link, other }) => {
    const check = await checkerOf([`BLOCKED URL ${link}`]);
    expect(check(link).status).toBe('BLOCKED');
    expect(check(other).status).toBe('UNKNOWN');
    expect(check(hostOf(link)).status).not.toBe('BLOCKED');
  });

  it.each(URL_LINKS)('has the pattern of what the link names in TAXII: $link', ({ link, pattern }) => {
    expect(patternOf({ type: 'URL', content: link })).toBe(`[${pattern}]`);
  });

  it.each(URLS_OF_HOSTS)(
    'stands for the host if one owner has all of the host, or it names no more: %s',
    (link, host) => {
      expect(assetKey({ type: 'URL', content: link })).toBe(`URL:${host}`);
      expect(patternOf({ type: 'URL', content: link })).toBe(`[domain-name:value = '${host}']`);
    },
  );

  it('blocks the host of an ordinary link, and the host of many people that it names alone', async () => {
    const check = await checkerOf(['BLOCKED URL https://evil.example/a', 'BLOCKED URL https://telegra.ph/']);
    for (const content of ['evil.example', 'https://evil.example/b', 'telegra.ph'])
      expect(check(content).status).toBe('BLOCKED');
  });

  it.each([
    'evil@evil.example;b@good.example',
    'mailto:evil@evil.example;b@good.example',
    'mailto:evil@evil.example,b@good.example',
    'xmpp:evil@evil.example;b@good.example',
    'mailto:a@b@good.example',
  ])('never stands for the host of one of several mailboxes: %s', (content) => {
    for (const type of ['URL', 'PAGE']) expect(assetKey({ type, content })).toBe(`${type}:${content}`);
  });

  it('of a platform allows the page and not the platform', async () => {
    const check = await checkerOf(['ALLOWED URL https://docs.google.com/forms/d/e/GOOD/viewform']);
    expect(check('https://docs.google.com/forms/d/e/GOOD/viewform').status).toBe('ALLOWED');
    expect(check('docs.google.com').status).toBe('UNKNOWN');
  });
});

describe('The pattern of a page in TAXII', () => {
  it('is that of the profile to which the page belongs', () => {
    expect(patternOf({ type: 'PAGE', content: 'https://x.com/evil' })).toBe("[url:value = 'https://x.com/evil']");
  });
});
