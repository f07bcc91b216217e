import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'tldts';
import { HostingSuffixes, readSuffix, shippedSuffixes } from '../../../src/asset-check/lists/hosting-suffixes.js';
import { brief, listOf } from '../../support/list-of.js';

const FILE = 'src/asset-check/lists/hosting-suffixes.txt';
const SUFFIXES = shippedSuffixes();
const EXAMPLE_HOSTS = SUFFIXES.map((suffix) => suffix.replace(/^\*\./, 'anything.'));
const hosting = new HostingSuffixes();

/** Each block of the file: its comment, then its suffixes. */
const blocks = readFileSync(FILE, 'utf8')
  .split('\n\n')
  .map((block) => block.trim().split('\n'))
  .map((lines) => ({
    comment: lines.filter((line) => line.startsWith('#')),
    suffixes: lines.filter((line) => !line.startsWith('#')),
  }));

describe('The shipped hosting suffixes', () => {
  it('are normalized and unique', () => {
    expect(SUFFIXES.map(readSuffix)).toEqual(SUFFIXES);
    expect(new Set(SUFFIXES).size).toBe(SUFFIXES.length);
    expect(SUFFIXES.length).toBeGreaterThan(1_000);
  });

  it('are sorted within blocks, each of which has a comment', () => {
    for (const { comment, suffixes } of blocks) {
      expect(comment).not.toHaveLength(0);
      expect(suffixes).toEqual(suffixes.toSorted());
    }
  });

  it('do not repeat suffixes of the Public Suffix List', () => {
    const known = SUFFIXES.filter((suffix) => {
      const { publicSuffix } = parse(`x.${suffix.replace(/^\*\./, '')}`, { allowPrivateDomains: true });
      return !suffix.startsWith('*.') && publicSuffix === suffix;
    });
    expect(known).toEqual([]);
  });

  it('are blocked if a list names them, but their subdomains are not', async () => {
    for (const format of ['plain', 'hosts'] as const) {
      const prefix = format === 'hosts' ? '0.0.0.0 ' : '';
      const { check } = await listOf(EXAMPLE_HOSTS.map((suffix) => `${prefix}${suffix}\n`).join(''), format);
      const below = EXAMPLE_HOSTS.flatMap((suffix) => [`x.${suffix}`, `https://a.x.${suffix}/path`]);
      expect(below.filter((content) => brief(check(content)).startsWith('BLOCKED'))).toEqual([]);
      expect(EXAMPLE_HOSTS.filter((suffix) => !brief(check(suffix)).startsWith('BLOCKED'))).toEqual([]);
    }
  });

  it('do not prevent a list from blocking a single site and its subdomains', async () => {
    const listed = await listOf(EXAMPLE_HOSTS.map((suffix) => `0.0.0.0 evil-site.${suffix}\n`).join(''), 'hosts');
    for (const suffix of EXAMPLE_HOSTS) {
      expect(brief(listed.check(`evil-site.${suffix}`))).toMatch(/^BLOCKED/);
      expect(brief(listed.check(`www.evil-site.${suffix}`))).toMatch(/^BLOCKED/);
      expect(brief(listed.check(`other-site.${suffix}`))).not.toMatch(/^BLOCKED/);
    }
  });

  it.each([
    'wordpress.com',
    'ghost.io',
    'substack.com',
    'tumblr.com',
    'neocities.org',
    'weebly.com',
    'mooo.com',
    'mypinata.cloud',
    'loca.lt',
    'wixsite.com',
    'github.io',
    'trycloudflare.com',
    'myshopify.com',
    'blogspot.com',
    'typeform.com',
  ])('and the Public Suffix List together include %s', (suffix) => {
    expect(hosting.boundaryOf(`someone.${suffix}`)).toEqual({ suffix, owner: 'hosting' });
  });

  it.each(['example.com', 'metamask.io', 'notwordpress.com', 'google.com', 'slack.com', 'netlify.com'])(
    'do not include %s, whose subdomains all belong to its owner',
    (host) => expect(hosting.boundaryOf(`www.${host}`).owner).toBe('registry'),
  );
});

describe('Hosts with pages of many users', () => {
  const HOSTS = ['cdpn.io', 'uploader.irys.xyz', 'arweave.net', 'g8way.io', 'permagate.io', 'tally.so', 'www.bit.ly'];

  it.each(HOSTS)('can be listed by page: only the listed page of %s is blocked', async (host) => {
    const { check } = await listOf(`${host}/Fc11/full/abc\nfc11.example\n`, 'plain');
    expect(brief(check(`https://${host}/Fc11/full/abc`))).toMatch(/^BLOCKED/);
    expect(brief(check(`https://${host}/Fc11/full/abc/below`))).toMatch(/^BLOCKED/);
    expect(brief(check(`https://${host}/other/full/abc`))).not.toMatch(/^BLOCKED/);
    expect(brief(check(`https://${host}/`))).not.toMatch(/^BLOCKED/);
  });

  it.each(HOSTS)('do not have their pages blocked if a list names the host %s', async (host) => {
    const { check } = await listOf(`${host}\n`, 'plain');
    expect(brief(check(`https://${host}/somebody`))).not.toMatch(/^BLOCKED/);
  });
});
