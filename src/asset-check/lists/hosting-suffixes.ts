import { readFileSync } from 'node:fs';
import { getPublicSuffix, parse } from 'tldts';
import { parseLocation } from '../../assets/location.js';

const SHIPPED = new URL('./hosting-suffixes.txt', import.meta.url);
const OPTIONS = { allowPrivateDomains: true, extractHostname: false, validateHostname: false, detectIp: false };

/** The suffix of a host that its owner did not choose, and who runs that suffix. */
export interface Boundary {
  /** The host's longest suffix under which strangers have names. */
  readonly suffix: string;
  /** `registry`: a public suffix such as `co.uk`. `hosting`: anybody can publish under it, such as `github.io`. */
  readonly owner: 'registry' | 'hosting';
}

/** The suffixes shipped with the service: hosts, or `*.` and a host. */
export const shippedSuffixes = (): string[] =>
  readFileSync(SHIPPED, 'utf8')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));

/** @returns the normalised suffix; undefined if it is not one */
export const readSuffix = (text: string): string | undefined => {
  const wild = text.startsWith('*.');
  const location = parseLocation(wild ? text.slice(2) : text);
  if (!location?.isName || location.rest !== '' || !location.host.includes('.')) return undefined;
  return wild ? `*.${location.host}` : location.host;
};

/** DNS names are not longer; of a longer host the last labels are enough. */
const MAX_NAME_LENGTH = 253;
const endOf = (host: string): string =>
  host.length <= MAX_NAME_LENGTH ? host : host.slice(host.indexOf('.', host.length - MAX_NAME_LENGTH - 1) + 1);

const lastTwoLabels = (host: string): string => host.slice(host.lastIndexOf('.', host.lastIndexOf('.') - 1) + 1);

/** Suffixes under which anybody can publish: the Public Suffix List's private section plus configured ones. */
export class HostingSuffixes {
  private readonly exact = new Set<string>();
  private readonly wild = new Set<string>();
  /** The last two labels of each added suffix: most hosts are ruled out by one look here. */
  private readonly roots = new Set<string>();

  /** @param added hosts, or `*.` and a host for every name directly under it */
  constructor(added: readonly string[] = shippedSuffixes()) {
    for (const text of added) {
      const suffix = readSuffix(text);
      if (suffix?.startsWith('*.')) this.wild.add(suffix.slice(2));
      else if (suffix !== undefined) this.exact.add(suffix);
      if (suffix !== undefined) this.roots.add(lastTwoLabels(suffix));
    }
  }

  boundaryOf(asked: string): Boundary {
    const host = endOf(asked);
    const { publicSuffix, isPrivate } = parse(host, OPTIONS);
    const suffix = publicSuffix ?? '';
    const added = this.addedSuffixOf(host);
    if (added !== undefined && added.length >= suffix.length) return { suffix: added, owner: 'hosting' };
    return { suffix, owner: isPrivate ? 'hosting' : 'registry' };
  }

  /** Whether the host is itself a public suffix, under which strangers register names. */
  isRegistrySuffix(host: string): boolean {
    return getPublicSuffix(host, OPTIONS) === host && parse(host, OPTIONS).isIcann === true;
  }

  /** The longest added suffix that equals the host or is above it. */
  private addedSuffixOf(host: string): string | undefined {
    if (!this.roots.has(lastTwoLabels(host))) return undefined;
    for (let start = 0; ;) {
      const dot = host.indexOf('.', start);
      if (dot === -1) return undefined;
      const candidate = host.slice(start);
      if (this.exact.has(candidate) || this.wild.has(host.slice(dot + 1))) return candidate;
      start = dot + 1;
    }
  }
}
