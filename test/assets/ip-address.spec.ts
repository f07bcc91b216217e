import { describe, expect, it } from '@jest/globals';
import { isInternalAddress, isPublicAddress, canonicalAddress } from '../../src/assets/ip-address.js';

const hex = (address: string, mask = 0): string =>
  address
    .split('.')
    .map((byte) => (Number(byte) ^ mask).toString(16).padStart(2, '0'))
    .join('')
    .replace(/(....)(....)/, '$1:$2');

/** IPv6 addresses that embed an IPv4 address. */
const embeddingsOf = (address: string): string[] => [
  `::ffff:${hex(address)}`,
  `64:ff9b::${hex(address)}`,
  `2002:${hex(address)}::1`,
];
const compatible = (address: string): string => `::${hex(address)}`;
/** The Teredo address of a client with this IPv4 address. Teredo inverts the bits of the IPv4 address. */
const teredo = (address: string): string => `2001:0:808:808:0:0:${hex(address, 0xff)}`;

describe('An IP address', () => {
  it.each(['10.0.0.1', '127.0.0.1', '169.254.169.254', '192.168.1.1', '100.64.0.1', '224.0.0.1', '0.0.0.8'])(
    'in a private block is internal and not public in every embedding: %s',
    (address) => {
      for (const form of [address, ...embeddingsOf(address), compatible(address), teredo(address), `[${address}]`])
        expect({ form, internal: isInternalAddress(form), isPublic: isPublicAddress(form) }).toEqual({
          form,
          internal: true,
          isPublic: false,
        });
    },
  );

  it('on the public Internet is public, also embedded in a routed IPv6 address', () => {
    for (const form of ['8.8.8.8', ...embeddingsOf('8.8.8.8'), '2606:4700::1111', '[2606:4700::1111]'])
      expect({ form, internal: isInternalAddress(form), isPublic: isPublicAddress(form) }).toEqual({
        form,
        internal: false,
        isPublic: true,
      });
    for (const form of [compatible('8.8.8.8'), teredo('8.8.8.8')]) expect(isPublicAddress(form)).toBe(false);
  });

  it.each(['203.0.113.7', '198.18.0.1', '240.0.0.1', '2001:db8::1', '3fff::1', '4000::1', 'fec0::1', '64:ff9b:1::1'])(
    'in an unused block is neither internal nor public: %s',
    (address) => {
      expect([isInternalAddress(address), isPublicAddress(address)]).toEqual([false, false]);
    },
  );

  it.each([
    '192.31.196.1',
    '192.52.193.1',
    '192.175.48.1',
    '192.0.0.9',
    '2620:4f:8000::1',
    '2001:4:112::1',
    '2001:3::1',
    '2001:20::1',
    '2001:30::1',
    '2001:1::2',
  ])('in a special block that IANA calls globally reachable is public: %s', (address) => {
    expect([isInternalAddress(address), isPublicAddress(address)]).toEqual([false, true]);
  });

  it.each(['192.0.0.8', '192.0.0.11', '2001:2::1', '2001:10::1', '2001:1::4', '2001:4:113::1', '100::1', '5f00::1'])(
    'beside such a block is not public: %s',
    (address) => {
      expect(isPublicAddress(address)).toBe(false);
    },
  );

  it('has one canonical form in all embeddings', () => {
    for (const form of ['8.8.8.8', ...embeddingsOf('8.8.8.8'), compatible('8.8.8.8')])
      expect({ form, simplest: canonicalAddress(form) }).toEqual({ form, simplest: '8.8.8.8' });
    expect(['::', '::1', '2606:4700:0:0::1', 'evil.example', ''].map(canonicalAddress)).toEqual([
      '::',
      '::1',
      '2606:4700::1',
      undefined,
      undefined,
    ]);
  });
});
