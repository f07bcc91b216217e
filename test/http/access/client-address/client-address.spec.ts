import { describe, expect, it } from '@jest/globals';
import { clientOf } from '../../../../src/http/access/client-address.js';

describe('The client of an address limit', () => {
  it('is the IPv4 address, even if it is written as IPv6', () => {
    for (const written of ['192.0.2.7', '::ffff:192.0.2.7', '::ffff:c000:207', '::FFFF:192.0.2.7'])
      expect([written, clientOf(written)]).toEqual([written, '192.0.2.7']);
  });

  it('is the /64 network of an IPv6 address', () => {
    for (const written of [
      '2001:db8:1:2::1',
      '2001:db8:1:2:ffff:ffff:ffff:ffff',
      '2001:DB8:1:2:a::',
      '2001:db8:1:2::%eth0',
    ])
      expect([written, clientOf(written)]).toEqual([written, '2001:db8:1:2::/64']);
    expect(clientOf('2001:db8:1:3::1')).toBe('2001:db8:1:3::/64');
  });

  it('is the address without the port that a proxy may add', () => {
    for (const [written, client] of [
      ['203.0.113.8:1000', '203.0.113.8'],
      ['203.0.113.8:65535', '203.0.113.8'],
      ['[2001:db8:1:2::1]:443', '2001:db8:1:2::/64'],
      ['[2001:db8:1:2::1]', '2001:db8:1:2::/64'],
      ['[::ffff:203.0.113.8]:443', '203.0.113.8'],
    ] as const)
      expect([written, clientOf(written)]).toEqual([written, client]);
  });

  it('is the same for all strings that are not addresses', () => {
    expect(
      new Set(
        ['', 'unknown', 'client.example', '<script>', '203.0.113.8:port', '[]:443', 'client.example:443'].map(clientOf),
      ).size,
    ).toBe(1);
  });
});
