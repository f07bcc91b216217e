import { describe, expect, it } from '@jest/globals';
import { EventStoreDBClient } from '@eventstore/db-client';
import { connectBy, parseStoreAddress } from '../../../src/event-log/eventstoredb/connection-string.js';

const settled = (url: string): string => connectBy(url, (text) => text);

describe('The address of an event store', () => {
  it.each([
    ['esdb://h/', ['h:2113']],
    ['esdb://h?', ['h:2113']],
    ['esdb://h', ['h:2113']],
    ['kurrent://h:1?tls=false', ['h:1']],
    ['kdb://h:1', ['h:1']],
    ['kurrentdb://h:1', ['h:1']],
    ['esdb://h1:1,h2:2,h3', ['h1:1', 'h2:2', 'h3:2113']],
    ['esdb+discover://cluster.example:2113', ['cluster.example:2113']],
  ])('%s names the hosts %j', (url, hosts) => {
    expect(parseStoreAddress(url).hosts).toEqual(hosts);
    // The client reads the text that is written from the address.
    expect(() => connectBy(url, (text) => EventStoreDBClient.connectionString(text))).not.toThrow();
  });

  it.each([
    ['default-deadline=5000', 'defaultDeadline=5000'],
    ['gossip_timeout=9', 'gossipTimeout=9'],
    ['keepAliveInterval=20000', 'keepAliveInterval=20000'],
    ['KEEP-ALIVE-TIMEOUT=-1', 'keepAliveTimeout=-1'],
    ['node_preference=Leader', 'nodePreference=leader'],
    ['connectionName=a%20b', 'connectionName=a%20b'],
  ])('keeps the option %s of the operator, once', (written, expected) => {
    const text = settled(`esdb://h?${written}`);
    expect(text).toContain(expected);
    const names = text
      .slice(text.indexOf('?') + 1)
      .split('&')
      .map((pair) => pair.split('=')[0]);
    expect(new Set(names).size).toBe(names.length);
  });

  it('keeps user and password', () => {
    expect(parseStoreAddress('esdb://u%40x:p%3Aq@h').user).toEqual({ name: 'u@x', password: 'p:q' });
    expect(settled('esdb://u%40x:p%3Aq@h')).toContain('esdb://u%40x:p%3Aq@h:2113?');
  });

  it.each([
    ['esdb://h?node-preference=follower', /nodePreference that is not leader/],
    ['esdb://h?defaultDeadline=1e3', /defaultDeadline that is not a whole number/],
    ['esdb://h?defaultDeadline=0', /defaultDeadline/],
    ['esdb://h?throw_on_append_failure=false', /throwOnAppendFailure that is not true/],
    ['esdb://h?tls-verify-cert=false', /tlsVerifyCert=false, which has no effect/],
    ['esdb://h?tls=no', /tls that is neither true nor false/],
    ['esdb://h?tls', /tls without one value/],
    ['esdb://h?tls=true&TLS=false', /tls twice/],
    ['esdb://h?none=1', /unknown option "none"/],
    ['esdb://h:21x', /position 9, expected a port from 1 to 65535 and not "21x"/],
    ['esdb://h:99999', /expected a port from 1 to 65535 and not "99999"/],
    ['esdb://h:0', /expected a port/],
    ['esdb://h1,h2:x', /position 13, expected a port/],
    ['esdb://h1/h2/h3', /expected the name or IPv4 address of a host and not "h1\/h2\/h3"/],
    ['esdb://h//', /not "h\/"/],
    ['esdb://[::1]:2113', /expected the name or IPv4 address/],
    ['esdb://u@h', /needs a password/],
    ['esdb://u:@h', /needs a password/],
    ['esdb://u:geheim:q@h', /has a ":", "@" or "\/"/],
    ['esdb://u:geheim@x@h', /has a ":", "@" or "\/"/],
    ['esdb://u:geheim/x@h', /has a ":", "@" or "\/"/],
    ['esdb://u:geheim?x@h', /percent-encode/],
    ['esdb://u:geheim#x@h', /percent-encode/],
    ['esdb://u:geheim%zz@h', /broken percent escape/],
    ['esdb://u:geheim@', /no host/],
    ['esdb+discover://h1,h2', /asks the first one only/],
    ['esdb://h?userCertFile=a', /both are needed/],
  ])('%s is refused with the part that is wrong', (url, message) => {
    expect(() => settled(url)).toThrow(message);
    expect(() => settled(url)).not.toThrow(/geheim/);
  });
});
