import { describe, expect, it } from '@jest/globals';
import { trustedProxies } from '../../../../src/http/access/client-address.js';

describe('Trusted proxies', () => {
  it('are undefined if no proxy is configured', () => {
    expect(trustedProxies([])).toBeUndefined();
  });

  it('are the configured addresses and networks, in any notation', () => {
    const isTrusted = trustedProxies(['10.0.0.0/8', '192.0.2.1', 'fd00::/8', '2001:db8::1'])!;
    for (const entry of ['10.1.2.3', '10.1.2.3:80', '::ffff:10.1.2.3', '192.0.2.1', '192.0.2.1:8080', 'fd12::1'])
      expect([entry, isTrusted(entry)]).toEqual([entry, true]);
    for (const entry of ['[fd12::1]:443', '2001:db8:0::1', '[2001:DB8::1]:1'])
      expect([entry, isTrusted(entry)]).toEqual([entry, true]);
    for (const entry of ['11.0.0.1', '192.0.2.2', '2001:db8::2', '::1', '', 'proxy.example', '10.0.0', '10.1.2.3:x'])
      expect([entry, isTrusted(entry)]).toEqual([entry, false]);
  });
});
