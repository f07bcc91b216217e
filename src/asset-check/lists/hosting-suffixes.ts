import { readFileSync } from 'node:fs';
import { getPublicSuffix, parse } from 'tldts';
import { lastTwoLabels, MAX_NAME_LENGTH, parseLocation } from '../../assets/location.js';

const SHIPPED = new URL('./hosting-suffixes.txt', import.meta.url);
const OPTIONS = { allowPrivateDomains: true, extractHostname: false, validateHostname: false, detectIp: false };

/**
 * The suffix of a host under which different people can register names or publish, and who runs the suffix: a registry
 * or a hosting service.
 */
export interface Boundary {
  /** The longest public or hosting suffix of the host. */
  readonly suffix: string;
  /**
   * `registry`: a public suffix such as `co.uk`. `hosting`: a suffix under which anybody can publish, such as
   * `github.io`.
   */
  readonly owner: 'registry' | 'hosting';
}

/** Reads the suffixes that are shipped with the service. Each suffix is a host, or `*.` and a host. */
export const shippedSuffixes = (): string[] =>
  readFileSync(SHIPPED, 'utf8')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));

/** Normalizes a suffix. @returns undefined if the text is not a suffix */
export const readSuffix = (text: string): string | undefined => {
  const wild = text.startsWith('*.');
  const location = parseLocation(wild ? text.slice(2) : text);
  if (!location?.isName || location.rest !== '' || !location.host.includes('.')) return undefined;
  return wild ? `*.${location.host}` : location.host;
};

/** Only the last labels of a host that is too long for a DNS name are used. */
const lastLabelsOf = (host: string): string =>
  host.length <= MAX_NAME_LENGTH ? host : host.slice(host.indexOf('.', host.length - MAX_NAME_LENGTH - 1) + 1);

/** The suffixes under which anybody can publish: the private section of the Public Suffix List, and added suffixes. */
export class HostingSuffixes {
  private readonly exact = new Set<string>();
  private readonly wild = new Set<string>();
  /**
   * The last two labels of each added suffix. Most hosts have other labels, so one lookup in this set rules them out.
   */
  private readonly roots = new Set<string>();

  /** @param added each is a host, or `*.` and a host, which stands for every name directly under that host */
  constructor(added: readonly string[] = shippedSuffixes()) {
    for (const text of added) {
      const suffix = readSuffix(text);
      if (suffix?.startsWith('*.')) this.wild.add(suffix.slice(2));
      else if (suffix !== undefined) this.exact.add(suffix);
      if (suffix !== undefined) this.roots.add(lastTwoLabels(suffix));
    }
  }

  /** The added suffixes; one that begins with `*.` stands for every name directly under it. */
  get added(): readonly string[] {
    return [...this.exact, ...Array.from(this.wild, (host) => `*.${host}`)];
  }

  boundaryOf(fullHost: string): Boundary {
    const host = lastLabelsOf(fullHost);
    const { publicSuffix, isPrivate } = parse(host, OPTIONS);
    const suffix = publicSuffix ?? '';
    const added = this.addedSuffixOf(host);
    if (added !== undefined && added.length >= suffix.length) return { suffix: added, owner: 'hosting' };
    return { suffix, owner: isPrivate ? 'hosting' : 'registry' };
  }

  /** Whether the whole host is a public suffix such as `co.uk`. */
  isRegistrySuffix(host: string): boolean {
    return getPublicSuffix(host, OPTIONS) === host && parse(host, OPTIONS).isIcann === true;
  }

  /** The longest added suffix that equals the host or one of its parent domains. */
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
