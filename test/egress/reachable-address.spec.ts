import { networkInterfaces } from 'node:os';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import ipaddr from 'ipaddr.js';
import { NOT_IN_REGISTRIES } from '../support/cases/private-addresses.js';
import { SPECIAL_PURPOSE } from '../support/cases/special-purpose-addresses.js';

const interfaces = jest.fn(networkInterfaces);
jest.unstable_mockModule('node:os', () => ({ networkInterfaces: interfaces }));
const { isReachableAddress } = await import('../../src/egress.js');

afterEach(() => void interfaces.mockReset().mockReturnValue({}));

/** The first address of a block, the last one, and one in the middle. */
const samplesOf = (block: string): string[] => {
  const [address, length] = ipaddr.parseCIDR(block);
  const first = address.toByteArray();
  const filled = (bit: (index: number) => number): string =>
    ipaddr
      .fromByteArray(
        first.map((byte, at) => {
          let value = byte;
          for (let index = Math.max(0, length - at * 8); index < 8; index += 1)
            value |= bit(at * 8 + index) << (7 - index);
          return value;
        }),
      )
      .toString();
  return [filled(() => 0), filled(() => 1), filled((index) => index % 2)];
};

/** An IPv4 address in each IPv6 notation that embeds it. */
const embeddingsOf = (address: string): string[] => {
  const [a, b, c, d] = address.split('.').map((byte) => Number(byte).toString(16).padStart(2, '0'));
  return [`::ffff:${a}${b}:${c}${d}`, `64:ff9b::${a}${b}:${c}${d}`, `2002:${a}${b}:${c}${d}::1`];
};

describe('isReachableAddress', () => {
  it.each(SPECIAL_PURPOSE.filter(([block, , reachable]) => reachable !== true && !/^(?:::ffff|2002)/.test(block)))(
    'rejects addresses in the special-purpose block %s (%s)',
    (block) => {
      for (const address of samplesOf(block)) {
        expect([address, isReachableAddress(address)]).toEqual([address, false]);
        if (!ipaddr.IPv4.isValid(address)) continue;
        for (const form of embeddingsOf(address)) expect([form, isReachableAddress(form)]).toEqual([form, false]);
      }
    },
  );

  it.each(NOT_IN_REGISTRIES)('rejects %s, which is a multicast, deprecated or unallocated address', (address) => {
    expect(isReachableAddress(address)).toBe(false);
  });

  it.each(['64:ff9b:1::808:808', '2001:0:808:808::f7f7:f7f7', 'fe80::1%eth0', '', 'localhost', '127.0.0.1 '])(
    'rejects %j, which is not a plain public IP address',
    (address) => {
      expect(isReachableAddress(address)).toBe(false);
    },
  );

  it('accepts public addresses, also if they are embedded in an IPv6 address', () => {
    for (const address of ['8.8.8.8', '1.1.1.1', '100.63.255.255', '100.128.0.0', '172.32.0.1', '223.255.255.255'])
      for (const form of [address, ...embeddingsOf(address)])
        expect([form, isReachableAddress(form)]).toEqual([form, true]);
    for (const address of ['2606:4700::1111', '2001:200::1', '2a00:1450:4001::1', '2003::1'])
      expect([address, isReachableAddress(address)]).toEqual([address, true]);
  });

  it('rejects the addresses of this machine in every notation', () => {
    const own = (address: string) => ({ address }) as NonNullable<ReturnType<typeof networkInterfaces>[string]>[number];
    interfaces.mockReturnValue({ eth0: [own('8.8.4.4'), own('2606:4700:0:0::64')], eth1: undefined });
    for (const address of ['8.8.4.4', ...embeddingsOf('8.8.4.4'), '2606:4700::64'])
      expect([address, isReachableAddress(address)]).toEqual([address, false]);
    expect(isReachableAddress('8.8.8.8')).toBe(true);
  });
});
