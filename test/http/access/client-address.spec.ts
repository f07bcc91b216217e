import { describe, expect, it } from '@jest/globals';
import { clientOf } from '../../../src/http/access/client-address.js';

describe('A client, as limits count it', () => {
  it('is an IPv4 address, even if it is written as IPv6', () => {
    for (const written of ['192.0.2.7', '::ffff:192.0.2.7', '::ffff:c000:207', '::FFFF:192.0.2.7'])
      expect([written, clientOf(written)]).toEqual([written, '192.0.2.7']);
  });

  it('is a network of 64 bits of IPv6', () => {
    for (const written of [
      '2001:db8:1:2::1',
      '2001:db8:1:2:ffff:ffff:ffff:ffff',
      '2001:DB8:1:2:a::',
      '2001:db8:1:2::%eth0',
    ])
      expect([written, clientOf(written)]).toEqual([written, '2001:db8:1:2::/64']);
    expect(clientOf('2001:db8:1:3::1')).toBe('2001:db8:1:3::/64');
  });

  it('is the address alone if a proxy writes the port as well', () => {
    for (const [written, client] of [
      ['203.0.113.8:1000', '203.0.113.8'],
      ['203.0.113.8:65535', '203.0.113.8'],
      ['[2001:db8:1:2::1]:443', '2001:db8:1:2::/64'],
      ['[2001:db8:1:2::1]', '2001:db8:1:2::/64'],
      ['[::ffff:203.0.113.8]:443', '203.0.113.8'],
    ] as const)
      expect([written, clientOf(written)]).toEqual([written, client]);
  });

  it('is one and the same for all that is no address', () => {
    expect(
      new Set(
        ['', 'unknown', 'client.example', '<script>', '203.0.113.8:port', '[]:443', 'client.example:443'].map(clientOf),
      ).size,
    ).toBe(1);
  });
});
