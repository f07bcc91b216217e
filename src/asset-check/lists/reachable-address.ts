import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** All that IANA has given out for hosts. What it keeps for later leads nowhere, or somewhere that nobody expects. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');
/** Translation to IPv4 of global use (RFC 6052). That of local use, 64:ff9b:1::/48, IANA lists as not reachable. */
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');

/** The IPv4 address that an IPv6 address leads to: mapped, translated (NAT64) or tunnelled (6to4). */
const embedded = (address: ipaddr.IPv6): ipaddr.IPv4 | undefined => {
  const bytes = address.toByteArray();
  if (address.isIPv4MappedAddress() || address.match(NAT64)) return new ipaddr.IPv4(bytes.slice(12));
  return address.range() === '6to4' ? new ipaddr.IPv4(bytes.slice(2, 6)) : undefined;
};

/** IPv4 where it leads there, so that one address has one form. */
const simplest = (address: Address): Address =>
  address instanceof ipaddr.IPv6 ? (embedded(address) ?? address) : address;

/** Asked each time: a laptop, a container or a VPN changes them while the process lives. */
const isOwn = (address: Address): boolean =>
  Object.values(networkInterfaces()).some((interfaces) =>
    interfaces?.some(({ address: own }) => String(simplest(ipaddr.parse(own))) === String(address)),
  );

/**
 * Whether an IP address is one of a host on the public Internet, and not of this machine: nothing that IANA's registries
 * of special-purpose addresses list, multicast or reserved. Source: IANA's IPv4 and IPv6 Special-Purpose Address
 * Registries. A text that is no address is not reachable.
 */
export const isReachableAddress = (text: string): boolean => {
  if (!ipaddr.isValid(text)) return false;
  const address = simplest(ipaddr.parse(text));
  // Whatever the library does not know has the range unicast, reserved parts of IPv6 included.
  const isPublic = address.range() === 'unicast' && (address instanceof ipaddr.IPv4 || address.match(GLOBAL_UNICAST));
  return isPublic && !isOwn(address);
};
