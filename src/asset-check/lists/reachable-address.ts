import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** The only range IANA has allocated to hosts. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');
/** The NAT64 prefix for global use (RFC 6052). IANA lists the one for local use, 64:ff9b:1::/48, as not reachable. */
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');

/** The IPv4 address embedded in an IPv6 address: mapped, translated (NAT64) or tunnelled (6to4). */
const embedded = (address: ipaddr.IPv6): ipaddr.IPv4 | undefined => {
  const bytes = address.toByteArray();
  if (address.isIPv4MappedAddress() || address.match(NAT64)) return new ipaddr.IPv4(bytes.slice(12));
  return address.range() === '6to4' ? new ipaddr.IPv4(bytes.slice(2, 6)) : undefined;
};

/** IPv4 if it embeds one, so that each address has a single form. */
const simplest = (address: Address): Address =>
  address instanceof ipaddr.IPv6 ? (embedded(address) ?? address) : address;

/** Read each time: a laptop, a container or a VPN changes its addresses while the process runs. */
const isOwn = (address: Address): boolean =>
  Object.values(networkInterfaces()).some((interfaces) =>
    interfaces?.some(({ address: own }) => String(simplest(ipaddr.parse(own))) === String(address)),
  );

/**
 * Whether a string is the IP address of another host on the public Internet: not special-purpose, multicast, reserved,
 * or this machine's own. Source: IANA's IPv4 and IPv6 Special-Purpose Address Registries.
 */
export const isReachableAddress = (text: string): boolean => {
  if (!ipaddr.isValid(text)) return false;
  const address = simplest(ipaddr.parse(text));
  // The library reports unknown ranges as unicast, including reserved parts of IPv6.
  const isPublic = address.range() === 'unicast' && (address instanceof ipaddr.IPv4 || address.match(GLOBAL_UNICAST));
  return isPublic && !isOwn(address);
};
