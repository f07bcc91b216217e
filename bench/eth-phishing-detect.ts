import { createRequire } from 'node:module';
import { listOf } from '../test/support/list-of.js';
import { Random } from '../test/support/random.js';
import { requireEqual } from './equal.js';
import { type Goal, measure } from './goal.js';
import { inMemory } from './paired.js';

interface Config {
  readonly blacklist: readonly string[];
  readonly whitelist: readonly string[];
  readonly fuzzylist: readonly string[];
}

interface Detector {
  check(host: string): { result: boolean; type: string };
}

const HOST = /^[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z]+$/;

/**
 * Returns hosts to check: half are listed or subdomains of a listed host, a tenth are allowed, the rest are unlisted.
 */
const hostsToCheck = ({ blacklist, whitelist }: Config, random: Random): string[] =>
  Array.from({ length: 2_000 }, (_, n) => {
    const drawn = random.int(10);
    if (drawn < 5) return `${random.pick(['', '', 'www.', 'app.'])}${random.pick(blacklist)}`;
    if (drawn < 6) return random.pick(whitelist);
    return `${random.pick(['', 'www.', 'shop.', 'a.b.'])}unlisted-address-${n}.${random.pick(['com', 'org', 'de'])}`;
  }).filter((host) => HOST.test(host));

/**
 * Compares checks against the list of eth-phishing-detect, including look-alikes, with the detector of that package.
 */
export const ethPhishingDetect: Goal = {
  name: 'G6b',
  run: async (bench) => {
    const require = createRequire(import.meta.url);
    const PhishingDetector = require('eth-phishing-detect/src/detector.js') as new (config: Config) => Detector;
    const config = require('eth-phishing-detect/src/config.json') as Config;
    const detector = new PhishingDetector(config);
    const { check } = await listOf(JSON.stringify(config), 'metamask');
    const detectorVerdict = (host: string): string => {
      const { result, type } = detector.check(host);
      return type === 'whitelist' ? 'ALLOWED' : result ? 'BLOCKED' : 'UNKNOWN';
    };
    const listVerdict = (host: string): string => {
      const result = check(host);
      return typeof result === 'string' ? result : result.status;
    };
    const hosts = hostsToCheck(config, new Random(63));
    requireEqual('verdicts', hosts.map(detectorVerdict), hosts.map(listVerdict));
    let next = 0;
    let blocked = 0;
    const one = (verdict: (host: string) => string) => () => {
      if (verdict(hosts[next++ % hosts.length]!) === 'BLOCKED') blocked += 1;
    };
    const paired = await measure(bench, 'G6b', {
      base: inMemory(one(detectorVerdict), 16),
      target: inMemory(one(listVerdict)),
    });
    if (blocked === 0) throw new Error('No host was blocked');
    return [
      {
        what: 'the same verdicts as eth-phishing-detect on its own list',
        against: 'its detector',
        measured: paired.ratio,
        unit: '×',
        must: 120,
        aim: 300,
        note: `${(1e6 / paired.target.median).toFixed(2)} µs against ${(1e6 / paired.base.median).toFixed(0)} µs`,
      },
    ];
  },
};
