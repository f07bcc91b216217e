import ipaddr from 'ipaddr.js';

/**
 * What limits count by. IPv4 written as IPv6 is the same client, and a network of 64 bits is the least that one client
 * of IPv6 has. What is no address, as a proxy may send, is counted together.
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
