import { BlockList, isIP } from 'node:net';
import { isInternalHost } from '../assets/internal-host.js';
import { canonicalAddress } from '../assets/ip-address.js';
import { isReachableAddress } from './reachable-address.js';

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

/**
 * Decides to which addresses this service may connect: addresses on the public Internet, and addresses that the
 * operator allows.
 */
export class NetworkPolicy {
  /** Whether the operator has allowed any network. */
  readonly allowsNetworks: boolean;
  private readonly networks = new BlockList();

  /** @param allow valid addresses and networks, such as those of `WEBHOOK_ALLOWED_NETWORKS` */
  constructor(allow: readonly string[]) {
    this.allowsNetworks = allow.length > 0;
    for (const network of allow) {
      const [address = '', prefix] = network.split('/');
      if (prefix === undefined) this.networks.addAddress(address, familyOf(address));
      else this.networks.addSubnet(address, Number(prefix), familyOf(address));
    }
  }

  /** Whether the operator has allowed this IP address, public or not. */
  isAllowedByOperator(address: string): boolean {
    const simplest = canonicalAddress(address);
    return simplest !== undefined && this.networks.check(simplest, familyOf(simplest));
  }

  /** Whether a connection to this IP address may be made. */
  permits(address: string): boolean {
    return this.isAllowedByOperator(address) || isReachableAddress(address);
  }

  /**
   * Checks a host before its name is looked up: returns false if connections to the host are denied whatever the name
   * resolves to. If the operator has allowed a network, any name may resolve to an address in that network, so every
   * name passes, and its addresses are checked after the lookup.
   * @param host an IP address without brackets, or a name
   */
  permitsHost(host: string): boolean {
    if (isIP(host) !== 0) return this.permits(host);
    return this.allowsNetworks || (host.includes('.') && !isInternalHost(host, true));
  }
}
