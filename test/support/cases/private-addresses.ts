import { SPECIAL_PURPOSE } from './special-purpose-addresses.js';

/** Multicast, deprecated and unallocated addresses, which IANA's registries of special-purpose addresses do not have. */
export const NOT_IN_REGISTRIES = [
  '224.0.0.1',
  '239.255.255.255',
  'ff02::1',
  'ff0e::1',
  'fec0::1',
  '4000::1',
  '1fff::1',
  'e000::1',
  '::7f00:1',
];

/** An address of each block that is not public, the metadata services of clouds, and addresses within others. */
export const PRIVATE_ADDRESSES = [
  ...SPECIAL_PURPOSE.flatMap(([block, , reachable]) => (reachable === true ? [] : block.replace(/\/\d+$/, ''))),
  ...NOT_IN_REGISTRIES,
  '127.0.0.1',
  '169.254.169.254',
  '100.100.100.200',
  'fd00:ec2::254',
  '::ffff:10.0.0.1',
  '::ffff:a9fe:a9fe',
  '64:ff9b::127.0.0.1',
  '64:ff9b::a9fe:a9fe',
  '2002:c0a8:101::1',
];

/** Loopback in every notation that a URL may contain. */
export const LOOPBACK_HOSTS = [
  '127.0.0.1',
  '127.1',
  '2130706433',
  '0x7f000001',
  '0x7f.1',
  '0177.0.0.1',
  '017700000001',
  '127.0.0.1.',
  '0.0.0.0',
  '①②⑦.⓪.⓪.①',
  '127。0。0。1',
  '[::1]',
  '[::]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[64:ff9b::7f00:1]',
  '[2002:7f00:1::]',
  'localhost',
  'LOCALHOST.',
];

/** Private hosts as a URL writes them, in ASCII. */
export const PRIVATE_HOSTS = [
  ...LOOPBACK_HOSTS.map((host) => host.replaceAll(/[^ -~]/g, encodeURIComponent)),
  ...PRIVATE_ADDRESSES.map((address) => (address.includes(':') ? `[${address}]` : address)),
];
