import { BlockList, isIP } from 'node:net';
import { withoutPort } from './client-address.js';

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

/**
 * Which entries of `X-Forwarded-For` are proxies to be believed, whether they write a port or not.
 * @param networks addresses and networks (`10.0.0.0/8`), valid ones
 * @returns undefined if there are none: then the header is not read
 */
export const trustedProxies = (networks: readonly string[]): ((address: string) => boolean) | undefined => {
  if (networks.length === 0) return undefined;
  const trusted = new BlockList();
  for (const network of networks) {
    const [address = '', prefix] = network.split('/');
    if (prefix === undefined) trusted.addAddress(address, familyOf(address));
    else trusted.addSubnet(address, Number(prefix), familyOf(address));
  }
  return (entry) => {
    const address = withoutPort(entry);
    return isIP(address) !== 0 && trusted.check(address, familyOf(address));
  };
};
