import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { SourceResult } from '../../../src/asset-check/verdict.js';
import type { RejectedEntries } from '../../../src/asset-check/lists/list-entry.js';
import { brief, listOf } from '../../support/list-of.js';

const SITES = new URL('../../../src/cli/demo/data/phishing-sites.csv', import.meta.url);
const ADDRESSES = new URL('../../../src/cli/demo/data/phishing-addresses.csv', import.meta.url);

/** Returns the sites that remain listed after all changes of the shipped data. */
const listedSites = (): string[] => {
  const listed = new Set<string>();
  for (const line of readFileSync(SITES, 'utf8').split('\n').slice(1)) {
    const [, change, site] = /^[^,]*,([^,]*),(.*)$/.exec(line.replace(/\r$/, '')) ?? [];
    if (change === 'listed') listed.add(site!);
    else if (site !== undefined) listed.delete(site);
  }
  return [...listed];
};

/** The only listed entry that is rejected: a suffix under which a registry sells names. */
const NO_HOST = 'org.im';

/** The allow list of the data. */
const ALLOW = `*.fleek.co amplifyapp.com ddns.net ddns.us duckdns.org eth.limo firebaseapp.com github.io herokuapp.com
  hopto.org js.org netlify.app on.fleek.co pagekite.me pages.dev plesk.page r2.dev servehttp.com square.site surge.sh
  sytes.net timeweb.ru vercel.app web.app webflow.io weebly.com wixsite.com wuaze.com zapto.org`;

describe('The shipped polkadot data as a list', () => {
  const deny = listedSites();
  const allow = ALLOW.split(/\s+/);
  let ask: (content: string) => SourceResult | string;
  let rejected: readonly RejectedEntries[];

  beforeAll(async () => {
    const { check, content } = await listOf(JSON.stringify({ allow, deny }), 'polkadot');
    ask = check;
    ({ rejected } = content);
  });

  it('blocks each listed host in every spelling of the data', () => {
    expect(deny.length).toBeGreaterThan(54_000);
    const missed = deny.filter((site) => {
      const result = ask(site);
      return typeof result === 'string' || result.status !== 'BLOCKED';
    });
    expect(missed).toEqual([NO_HOST]);
    expect(rejected).toEqual([{ reason: 'public-suffix', count: 1, examples: [NO_HOST] }]);
  });

  it('blocks neither hosting suffixes nor unlisted sites under them', () => {
    for (const suffix of allow.filter((text) => !text.startsWith('*.'))) {
      expect(brief(ask(suffix))).toBe(`ALLOWED ${suffix}`);
      expect(brief(ask(`nobody-listed-this.${suffix}`))).toBe(`${suffix} hosting-domain`);
    }
  });

  it('blocks the shipped addresses if they are a plain list, also with the prefix of another network', async () => {
    const addresses = readFileSync(ADDRESSES, 'utf8')
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(',').at(-1)!)
      .filter((address) => address !== '');
    const { check: askAddresses, content } = await listOf(addresses.join('\n'), 'plain');
    expect(content.rejected).toEqual([]);
    for (const address of addresses) expect(askAddresses(address)).toMatchObject({ status: 'BLOCKED' });
  });
});
