import ipaddr from 'ipaddr.js';
import { inNetworks } from '../../runtime/config.js';

/** An address with a port, as some proxies write it: `203.0.113.8:1000`, `[2001:db8::1]:443`. */
const WITH_PORT = /^(?:\[([^\]]+)\]|(\d{1,3}(?:\.\d{1,3}){3}))(?::\d{1,5})?$/;

const withoutPort = (entry: string): string => {
  const [, ipv6, ipv4] = WITH_PORT.exec(entry) ?? [];
  return ipv6 ?? ipv4 ?? entry;
};

/**
 * Returns the client that a limit per address counts: an IPv4 address or an IPv6 /64 network, without the port. An
 * IPv4-mapped IPv6 address counts as the IPv4 address. All strings that are not addresses, as a proxy may send, count as
 * one client.
 */
export const clientOf = (entry: string): string => {
  const address = withoutPort(entry);
  if (!ipaddr.isValid(address)) return 'unknown';
  const parsed = ipaddr.process(address);
  return parsed instanceof ipaddr.IPv6
    ? `${parsed.parts
        .slice(0, 4)
        .map((part) => part.toString(16))
        .join(':')}::/64`
    : parsed.toString();
};

/**
 * Returns a function that tells whether an entry of `X-Forwarded-For`, with or without a port, is a trusted proxy.
 * @param networks valid addresses and networks (`10.0.0.0/8`)
 * @returns undefined if `networks` is empty; the header is then not read
 */
export const trustedProxies = (networks: readonly string[]): ((address: string) => boolean) | undefined => {
  if (networks.length === 0) return undefined;
  const isTrusted = inNetworks(networks);
  return (entry) => isTrusted(withoutPort(entry));
};
