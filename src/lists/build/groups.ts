import { hashOfText } from '../../asset-check/lists/host-table.js';
import { withParents } from '../expressions.js';
import { rootOf, type SuffixIndex } from './suffixes.js';

/** Of a host: an IPv4 address. */
export const IS_ADDRESS = /^\d+(?:\.\d+){3}$/;

/**
 * Puts what may decide together into one group, a number: the hosts of one owner with their pages and mailboxes, the
 * addresses and ranges with the same first byte, or one other key. A change of an entry changes the expressions of its
 * group, and of no other unless `reachesOthers`. Two groups with the same number are one group.
 */
export class Groups {
  constructor(private readonly suffixes: SuffixIndex) {}

  /** @param host a host of at least two labels, or an IPv4 address */
  ofHost(host: string): number {
    return hashOfText(IS_ADDRESS.test(host) ? host.slice(0, host.indexOf('.')) : this.ownedPart(host));
  }

  /** @param key the key of an account, a profile, a mailbox or IPFS content */
  ofKey(key: string): number {
    return key.startsWith('EMAIL:') ? this.ofHost(key.slice(key.lastIndexOf('@') + 1)) : hashOfText(key);
  }

  /** Returns the groups on which the expressions of a host depend: its own, and those of the hosts above. */
  above(host: string): number[] {
    return IS_ADDRESS.test(host) ? [this.ofHost(host)] : withParents(host).map((one) => this.ofHost(one));
  }

  /** Whether a host may have hosts of other groups below. */
  reachesOthers(host: string): boolean {
    const suffixes = this.suffixes.byRoot.get(rootOf(host) ?? '') ?? [];
    return this.suffixes.mayBe(host) || suffixes.some((one) => one.endsWith(`.${host}`));
  }

  /** Returns the host with one label more than its longest suffix, or the suffix. */
  private ownedPart(host: string): string {
    const root = rootOf(host) ?? host;
    if (!this.suffixes.byRoot.has(root) && !this.suffixes.mayBe(root)) return root;
    let owned = host;
    for (const one of withParents(host)) {
      if (this.suffixes.mayBe(one)) return owned;
      owned = one;
    }
    return owned;
  }
}
