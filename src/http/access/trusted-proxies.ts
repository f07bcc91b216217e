import { BlockList, isIP } from 'node:net';
import { withoutPort } from './client-address.js';

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

/**
 * Returns a function that tells whether an entry of `X-Forwarded-For`, with or without a port, is a trusted proxy.
 * @param networks valid addresses and networks (`10.0.0.0/8`)
 * @returns undefined if `networks` is empty; the header is then not read
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
