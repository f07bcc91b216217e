import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { AddressDenied, Destinations, type LookUp, NetworkPolicy } from '../../src/egress.js';

const PUBLIC = ['93.184.216.34', '2606:2800:220:1::1'];
const endless: LookUp = () => new Promise(() => {});
const never: LookUp = () => Promise.reject(new Error('The name was looked up'));
const destinationsWith = (lookUp: LookUp, allow: readonly string[] = []): Destinations =>
  new Destinations(new NetworkPolicy(allow), lookUp);

describe('Destinations', () => {
  afterEach(() => void jest.useRealTimers());

  it('return every address of a name', async () => {
    const lookedUpNames: string[] = [];
    const lookUp: LookUp = async (name) => {
      lookedUpNames.push(name);
      return PUBLIC;
    };
    expect(await destinationsWith(lookUp).addressesOf(new URL('http://Lists.example.:8080/'))).toEqual(PUBLIC);
    expect(lookedUpNames).toEqual(['lists.example']);
  });

  it.each(['localhost', 'LOCALHOST.', 'db', 'db.internal', 'nas.local', 'a.home.arpa'])(
    'reject %s without a lookup, unless the operator allows a network',
    async (name) => {
      const url = new URL(`https://${name}/`);
      await expect(destinationsWith(never).addressesOf(url)).rejects.toThrow(new AddressDenied('not a public address'));
      expect(await destinationsWith(async () => ['10.0.0.1'], ['10.0.0.0/8']).addressesOf(url)).toEqual(['10.0.0.1']);
    },
  );

  it('reject a name whose lookup takes 5 s', async () => {
    jest.useFakeTimers();
    const looking = destinationsWith(endless).addressesOf(new URL('https://slow.example/'));
    const refused = expect(looking).rejects.toThrow(new AddressDenied('the lookup of the host name took too long'));
    jest.advanceTimersByTime(5_000);
    await refused;
  });

  it('cancel a lookup if the stop signal aborts before or during the lookup', async () => {
    const reason = new Error('the process ends');
    const url = new URL('https://slow.example/');
    await expect(destinationsWith(never).addressesOf(url, AbortSignal.abort(reason))).rejects.toBe(reason);
    const stop = new AbortController();
    const looking = destinationsWith(endless).addressesOf(url, stop.signal);
    stop.abort(reason);
    await expect(looking).rejects.toBe(reason);
  });
});
