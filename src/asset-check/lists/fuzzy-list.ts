import { distance } from 'fastest-levenshtein';

/** Removes the top-level domain from a host. */
const withoutTopLevelDomain = (host: string): string => host.slice(0, Math.max(0, host.lastIndexOf('.')));

/** The set of characters in a string, as a bitmap of their codes modulo 32. */
const lettersOf = (text: string): number => {
  let letters = 0;
  for (let index = 0; index < text.length; index += 1) letters |= 1 << text.charCodeAt(index);
  return letters;
};

/** Counts the set bits. */
const countOf = (bits: number): number => {
  let v = bits - ((bits >>> 1) & 0x55555555);
  v = (v & 0x33333333) + ((v >>> 2) & 0x33333333);
  return Math.imul((v + (v >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
};

/**
 * Hosts that phishers imitate. A host is an imitation if it differs from one of these hosts by at most `tolerance`
 * edits. The comparison ignores the top-level domain and a leading `www.`, as eth-phishing-detect does.
 */
export class FuzzyList {
  private readonly targets: readonly { readonly host: string; readonly name: string; readonly letters: number }[];
  private readonly shortest: number;
  private readonly longest: number;

  constructor(
    hosts: readonly string[],
    private readonly tolerance: number,
  ) {
    this.targets = hosts.map((host) => ({
      host,
      name: withoutTopLevelDomain(host),
      letters: lettersOf(withoutTopLevelDomain(host)),
    }));
    const lengths = this.targets.map(({ name }) => name.length);
    this.shortest = Math.min(...lengths) - tolerance;
    this.longest = Math.max(...lengths) + tolerance;
  }

  /** Returns the host that `host` imitates, or undefined. */
  find(host: string): string | undefined {
    if (this.tolerance <= 0) return undefined;
    const name = withoutTopLevelDomain(host).replace('www.', '');
    if (name.length < this.shortest || name.length > this.longest) return undefined;
    const letters = lettersOf(name);
    for (const target of this.targets) {
      // One edit changes the length by at most one, and adds and removes at most one distinct character.
      if (Math.abs(target.name.length - name.length) > this.tolerance) continue;
      if (countOf(letters & ~target.letters) > this.tolerance) continue;
      if (countOf(target.letters & ~letters) > this.tolerance) continue;
      if (distance(name, target.name) <= this.tolerance) return target.host;
    }
    return undefined;
  }
}
