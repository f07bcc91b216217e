import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

type Use = 'public' | 'internal' | 'unused';

/**
 * The use of address blocks by IANA's special-purpose registries, and of unallocated blocks. The first use that has a
 * block with an address counts. A block that the registries call globally reachable is `public`; `internal` addresses
 * belong to the machine or a private network; `unused` addresses are not routed: of IPv6 all but 2000::/3, the only
 * block that IANA has allocated to hosts.
 */
const USES: Readonly<Record<Use, string>> = {
  public:
    '192.0.0.9/32 192.0.0.10/32 2001:1::1/128 2001:1::2/128 2001:1::3/128 2001:3::/32 2001:4:112::/48 2001:20::/28 2001:30::/28',
  internal:
    '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.168.0.0/16 224.0.0.0/4 255.255.255.255/32 ::/128 ::1/128 fc00::/7 fe80::/10 ff00::/8',
  unused:
    '192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4 2001::/23 2001:db8::/32 3fff::/20 ::/3 4000::/2 8000::/1',
};
const BLOCKS = (['public', 'internal', 'unused'] as const).flatMap((use) =>
  USES[use].split(' ').map((block) => ({ range: ipaddr.parseCIDR(block), use })),
);

/** Returns the use of an address according to the first matching block. */
const useOf = (address: Address): Use => {
  const found = BLOCKS.find(({ range }) => range[0].kind() === address.kind() && address.match(range));
  return found?.use ?? 'public';
};

const MAPPED = ipaddr.IPv6.parseCIDR('::ffff:0:0/96');
/** The NAT64 prefix for global use (RFC 6052). The prefix for local use, 64:ff9b:1::/48, is not public. */
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');
const SIX_TO_FOUR = ipaddr.IPv6.parseCIDR('2002::/16');
/**
 * IPv4-compatible addresses, which RFC 4291 deprecates. `::` and `::1` are in this block but are not IPv4-compatible
 * addresses.
 */
const COMPATIBLE = ipaddr.IPv6.parseCIDR('::/96');
const TEREDO = ipaddr.IPv6.parseCIDR('2001::/32');

const parse = (text: string): Address | undefined => {
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
  return ipaddr.isValid(bare) ? ipaddr.parse(bare) : undefined;
};

/** Returns the IPv4 address in a mapped, translated (NAT64), tunnelled (6to4) or compatible IPv6 address. */
const embedded = (address: Address): ipaddr.IPv4 | undefined => {
  if (address instanceof ipaddr.IPv4) return undefined;
  const bytes = address.toByteArray();
  if (address.match(SIX_TO_FOUR)) return new ipaddr.IPv4(bytes.slice(2, 6));
  const isCompatible = address.match(COMPATIBLE) && !/^::1?$/.test(address.toString());
  return address.match(MAPPED) || address.match(NAT64) || isCompatible ? new ipaddr.IPv4(bytes.slice(12)) : undefined;
};

/** Returns the client address in a Teredo address, which contains the address with inverted bits. */
const teredoClient = (address: Address): ipaddr.IPv4 | undefined =>
  address instanceof ipaddr.IPv6 && address.match(TEREDO)
    ? new ipaddr.IPv4(
        address
          .toByteArray()
          .slice(12)
          .map((byte) => byte ^ 0xff),
      )
    : undefined;

/**
 * Returns the canonical form of an IP address: the IPv4 address if an IPv6 address embeds one.
 * @param text an IPv6 address may be in brackets
 * @returns undefined if the text is not an IP address
 */
export const canonicalAddress = (text: string): string | undefined => {
  const address = parse(text);
  return address && String(embedded(address) ?? address);
};

/**
 * Returns the use of an IP address or, if the address embeds an IPv4 address, of the IPv4 address; undefined if the
 * text is not an IP address.
 */
const useOfText = (text: string): Use | undefined => {
  const address = parse(text);
  if (address === undefined) return undefined;
  const client = teredoClient(address);
  // Compatible addresses and Teredo addresses are no longer routed.
  const isRouted = client === undefined && (address instanceof ipaddr.IPv4 || !address.match(COMPATIBLE));
  const use = useOf(embedded(address) ?? client ?? address);
  return use === 'public' && !isRouted ? 'unused' : use;
};

/** Whether the text is an IP address on the public Internet. */
export const isPublicAddress = (text: string): boolean => useOfText(text) === 'public';

/** Whether an IP address belongs to the machine or a private network. */
export const isInternalAddress = (text: string): boolean => useOfText(text) === 'internal';

/** A range of addresses. */
interface AddressRange {
  /** The first address of the range and the length of the prefix: `198.51.100.0/24`. */
  readonly key: string;
  readonly prefix: number;
  readonly kind: 'v4' | 'v6';
}

/**
 * Returns the range around an address.
 * @param length the length of the prefix in bits, or a netmask
 * @returns undefined if the text is no address, or the address cannot have such a prefix
 */
export const rangeOf = (text: string, length: number | string): AddressRange | undefined => {
  const address = parse(text);
  if (address === undefined) return undefined;
  const isV4 = address instanceof ipaddr.IPv4;
  const mask = String(length);
  const prefix = mask.includes('.')
    ? isV4
      ? ipaddr.IPv4.parse(mask).prefixLengthFromSubnetMask()
      : null
    : Number(mask);
  if (prefix === null || prefix > (isV4 ? 32 : 128)) return undefined;
  const bytes = address.toByteArray().map((byte, at) => byte & (0xff00 >> Math.min(8, Math.max(0, prefix - 8 * at))));
  return { key: `${String(ipaddr.fromByteArray(bytes))}/${prefix}`, prefix, kind: isV4 ? 'v4' : 'v6' };
};

/** Names that resolve only on the machine or a private network (RFC 6761, 6762, 8375; ICANN reserved `internal`). */
const PRIVATE_NAMES = /(?:^|\.)(?:localhost|localdomain|local|internal|home\.arpa)$/;

/** Whether a normalized host is on the machine or a private network. */
export const isInternalHost = (host: string, isName: boolean): boolean =>
  isName ? PRIVATE_NAMES.test(host) : isInternalAddress(host);

/**
 * Schemes of addresses inside the browser or on the machine. `view-source:` and `blob:` are internal even if a web
 * address follows the scheme.
 */
const INTERNAL_SCHEME =
  /^(?:about|blob|brave|chrome|chrome-(?:error|extension|native|search|untrusted)|data|devtools|edge|extension|file(?!:[\\/]{2}(?:[\\/]{2,3})?(?!localhost(?:[\\/:]|$)|[a-z][:|])[^\\/?#:])|filesystem|javascript|jar|livescript|moz-extension|ms-browser-extension|opera|resource|safari-(?:web-)?extension|vbscript|view-source|vivaldi|wyciwyg):/i;
/** @param text text after `refang` */
export const isInternalScheme = (text: string): boolean => INTERNAL_SCHEME.test(text);
