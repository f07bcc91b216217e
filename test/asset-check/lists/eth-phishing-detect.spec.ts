import { createRequire } from 'node:module';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { SourceResult } from '../../../src/asset-check/verdict.js';
import { Random } from '../../support/random.js';
import { listOf } from '../../support/list-of.js';

interface Config {
  readonly blacklist: string[];
  readonly whitelist: string[];
  readonly fuzzylist: string[];
  readonly tolerance: number;
}

type Detector = new (config: Config) => { check(host: string): { result: boolean; type: string } };

const require = createRequire(import.meta.url);
const PhishingDetector = require('eth-phishing-detect/src/detector.js') as Detector;
const config = require('eth-phishing-detect/src/config.json') as Config;

/** The result of the detector as an asset status. */
const verdictOf = ({ result, type }: { result: boolean; type: string }): string =>
  type === 'whitelist' ? 'ALLOWED' : result ? 'BLOCKED' : 'UNKNOWN';

const mutated = (random: Random, host: string): string => {
  const at = random.int(host.length);
  const letter = random.pick(Array.from('abcdefghijklmnopqrstuvwxyz0123456789-'));
  const cut = random.pick([0, 1, 1]);
  return host.slice(0, at) + (random.chance(0.3) ? '' : letter) + host.slice(at + cut);
};

const derived = (random: Random): string => {
  const host = random.pick(random.pick([config.blacklist, config.whitelist, config.fuzzylist]));
  switch (random.int(6)) {
    case 0:
      return `www.${host}`;
    case 1:
      return `${random.pick(['app', 'login', 'a.b'])}.${host}`;
    case 2:
      return host.slice(host.indexOf('.') + 1);
    case 3:
      return mutated(random, random.pick(config.fuzzylist));
    case 4:
      return `${host.slice(0, host.lastIndexOf('.'))}.${random.pick(['com', 'io', 'xyz', 'co.uk'])}`;
    default:
      return mutated(random, host);
  }
};

/**
 * The intended differences from the detector. Two entries of the list have no dot and are rejected: they are not
 * hosts. IP addresses have no subdomains. Content that is not a host has no verdict.
 */
const NO_HOSTS = ['com12786312634', 'iclexofmarket'];

const isIntended = (host: string, result: SourceResult | string): boolean =>
  result === 'parse-error' ||
  result === 'internal-scheme' ||
  NO_HOSTS.some((entry) => host === entry || host.endsWith(`.${entry}`));

describe('A list in the metamask format', () => {
  let check: (content: string) => SourceResult | string;
  const detector = new PhishingDetector(config);

  beforeAll(async () => {
    ({ check } = await listOf(JSON.stringify(config), 'metamask'));
  });

  const differences = (hosts: readonly string[]): { found: string[]; excepted: number; compared: number } => {
    const found: string[] = [];
    let excepted = 0;
    for (const host of hosts) {
      const expected = verdictOf(detector.check(host));
      const result = check(host);
      const status = typeof result === 'string' ? result : result.status;
      if (status === expected) continue;
      if (isIntended(host, result)) excepted += 1;
      else found.push(`${host}: ${status}, the detector says ${expected}`);
    }
    return { found, excepted, compared: hosts.length };
  };

  it('returns the verdict of eth-phishing-detect for every host of its own list', () => {
    const { found, excepted, compared } = differences([...config.blacklist, ...config.whitelist, ...config.fuzzylist]);
    expect(compared).toBeGreaterThan(14_000);
    expect(found).toEqual([]);
    expect(excepted).toBe(NO_HOSTS.length);
  });

  it('returns the verdict of eth-phishing-detect for 4,000 hosts derived from the list', () => {
    const random = new Random(6);
    const hosts = Array.from({ length: 4_000 }, () => derived(random)).filter((host) => /^[a-z0-9._-]+$/.test(host));
    const { found, excepted, compared } = differences(hosts);
    expect(compared).toBeGreaterThan(3_600);
    expect(found).toEqual([]);
    // Nearly all exceptions are not hosts: single labels, or names derived from an IP address.
    expect(excepted).toBeLessThan(compared / 4);
  });

  it('finds the same imitations as eth-phishing-detect', () => {
    const random = new Random(7);
    const hosts = Array.from({ length: 1_500 }, () => mutated(random, mutated(random, random.pick(config.fuzzylist))));
    const { found } = differences(hosts);
    expect(found).toEqual([]);
    expect(hosts.filter((host) => detector.check(host).type === 'fuzzy').length).toBeGreaterThan(500);
  });

  it('differs from eth-phishing-detect for listed hosting suffixes and public suffixes', async () => {
    const hostile: Config = {
      blacklist: ['github.io', 'co.uk', 'com', 'evil.example'],
      whitelist: ['pages.dev', 'net'],
      fuzzylist: [],
      tolerance: 2,
    };
    const theirs = new PhishingDetector(hostile);
    const { check: ours } = await listOf(JSON.stringify(hostile), 'metamask');
    const compare = (host: string): [string, string] => [
      verdictOf(theirs.check(host)),
      (ours(host) as SourceResult).status,
    ];
    expect(compare('someone.github.io')).toEqual(['BLOCKED', 'UNKNOWN']);
    expect(compare('someone.pages.dev')).toEqual(['ALLOWED', 'UNKNOWN']);
    expect(compare('shop.co.uk')).toEqual(['BLOCKED', 'UNKNOWN']);
    expect(compare('shop.com')).toEqual(['BLOCKED', 'UNKNOWN']);
    expect(compare('shop.net')).toEqual(['ALLOWED', 'UNKNOWN']);
    expect(compare('github.io')).toEqual(['BLOCKED', 'BLOCKED']);
    expect(compare('pages.dev')).toEqual(['ALLOWED', 'ALLOWED']);
    expect(compare('a.evil.example')).toEqual(['BLOCKED', 'BLOCKED']);
  });
});
