import ipaddr from 'ipaddr.js';

/** Ranges not used on the public Internet, except documentation ranges, which nobody routes. */
const PRIVATE_RANGES: ReadonlySet<string> = new Set([
  'unspecified',
  'broadcast',
  'multicast',
  'linkLocal',
  'loopback',
  'carrierGradeNat',
  'private',
  'uniqueLocal',
  'amt',
  'as112',
]);
const SIXTY_FOUR = ipaddr.IPv6.parseCIDR('64:ff9b::/96');
const THIS_NETWORK = ipaddr.IPv4.parseCIDR('0.0.0.0/8');
/** Names that stay on the machine or its own network (RFC 6761, 6762, 8375; ICANN's reservation of `internal`). */
const PRIVATE_NAMES = /(?:^|\.)(?:localhost|localdomain|local|internal|home\.arpa)$/;

/**
 * Whether an IP address belongs to the machine or a private network, also if it is an IPv4 address embedded in IPv6.
 * Anything that is not an address counts as private.
 */
export const isPrivateAddress = (address: string): boolean => {
  const bare = address.startsWith('[') ? address.slice(1, -1) : address;
  if (!ipaddr.isValid(bare)) return true;
  const parsed = ipaddr.parse(bare);
  if (parsed instanceof ipaddr.IPv4) return parsed.match(THIS_NETWORK) || PRIVATE_RANGES.has(parsed.range());
  if (parsed.isIPv4MappedAddress()) return isPrivateAddress(parsed.toIPv4Address().toString());
  if (parsed.match(SIXTY_FOUR) || parsed.range() === '6to4') {
    const bytes = parsed.toByteArray();
    return isPrivateAddress((parsed.range() === '6to4' ? bytes.slice(2, 6) : bytes.slice(12)).join('.'));
  }
  return PRIVATE_RANGES.has(parsed.range());
};

/** Whether a normalised host belongs to the browser, the machine or a private network. */
export const isInternalHost = (host: string, isName: boolean): boolean =>
  isName ? PRIVATE_NAMES.test(host) : isPrivateAddress(host);
