import ipaddr from 'ipaddr.js';

/**
 * The client that limits count by. An IPv4-mapped IPv6 address is the IPv4 client; the smallest IPv6 client is a /64
 * network. Strings that are not addresses, as a proxy may send, count as one client.
 */
export const clientOf = (address: string): string => {
  if (!ipaddr.isValid(address)) return 'unknown';
  const parsed = ipaddr.process(address);
  return parsed instanceof ipaddr.IPv6
    ? `${parsed.parts
        .slice(0, 4)
        .map((part) => part.toString(16))
        .join(':')}::/64`
    : parsed.toString();
};
