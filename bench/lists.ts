import { Random } from '../test/support/random.js';

const WORDS = [
  'wallet',
  'login',
  'secure',
  'claim',
  'bonus',
  'swap',
  'bridge',
  'verify',
  'support',
  'airdrop',
  'connect',
];
const ENDINGS = ['com', 'xyz', 'io', 'net', 'top', 'app', 'co.uk', 'org', 'site'];

/** Returns a host name typical of phishing. Hosts with different numbers are distinct. */
const phishingHost = (random: Random, n: number): string =>
  `${random.pick(WORDS)}-${random.pick(WORDS)}${n.toString(36)}.${random.pick(ENDINGS)}`;

/** Returns `count` distinct hosts. Every run gets the same hosts. */
export const phishingHosts = (count: number): string[] => {
  const random = new Random(61);
  return Array.from({ length: count }, (_, n) => phishingHost(random, n));
};

/** Returns hosts to check: half are derived from a listed host. Each has up to three additional labels. */
export const hostsToCheck = (listed: readonly string[], count: number): string[] => {
  const random = new Random(62);
  return Array.from({ length: count }, (_, n) => {
    const host = random.chance(0.5) ? random.pick(listed) : phishingHost(random, 1_000_000_000 + n);
    const labels = Array.from({ length: random.int(4) }, () => random.pick(WORDS));
    return [...labels, host].join('.');
  });
};

/** Returns the host and its parent domains of at least two labels. */
export const candidates = (host: string): string[] => {
  const labels = host.split('.');
  return labels.slice(0, -1).map((_, from) => labels.slice(from).join('.'));
};
