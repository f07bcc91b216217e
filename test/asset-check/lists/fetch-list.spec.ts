import { once } from 'node:events';
import * as https from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Destinations, type LookUp, NetworkPolicy } from '../../../src/egress.js';
import { CERTIFICATE, KEY } from '../../support/eventstore-double/certificate.js';
import { answers, ListServer, sends } from '../../support/list-server.js';

jest.unstable_mockModule('node:https', () => ({
  ...https,
  request: (url: URL, options: https.RequestOptions, respond: Parameters<typeof https.request>[2]) =>
    https.request(url, { ...options, ca: CERTIFICATE }, respond),
}));
const { fetchList } = await import('../../../src/asset-check/lists/fetch-list.js');

const never = new AbortController().signal;
/** The only loopback address that the network policy of this spec treats as public. */
const PUBLIC = '127.0.0.2';
const INNER = '127.0.0.1';

/** Downloads a list as text. `lookUp` resolves the host names of redirects. */
const read = async (
  url: string,
  lookUp: LookUp,
  { timeoutMs = 10_000, stop = never }: { timeoutMs?: number; stop?: AbortSignal } = {},
): Promise<string> => {
  const limits = { timeoutMs, maxBytes: 1_000, validators: {} };
  const { body } = await fetchList(url, limits, stop, new Destinations(new NetworkPolicy([PUBLIC]), lookUp));
  const chunks: Buffer[] = [];
  for await (const chunk of body!.chunks) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString();
};

describe('A list that redirects to a host name', () => {
  let lists: ListServer;
  let privateServer: ListServer;
  let publicServer: ListServer;
  let port: string;
  let lookedUpNames: string[];
  let configured: string;

  beforeEach(async () => {
    [lists, privateServer, publicServer] = [new ListServer(), new ListServer(), new ListServer()];
    configured = await lists.start();
    port = new URL(await privateServer.start()).port;
    await publicServer.start(PUBLIC, Number(port));
    lists.behave = answers(302, { location: `http://lists.example:${port}/list` });
    privateServer.behave = sends('inner.example');
    publicServer.behave = sends('open.example');
    lookedUpNames = [];
  });
  afterEach(() => Promise.all([lists, privateServer, publicServer].map((server) => server.stop())));

  /** A name server that returns the given addresses one after another, and then always the last one. */
  const leadingTo =
    (...answersInTurn: readonly (readonly string[])[]): LookUp =>
    async (name) => {
      lookedUpNames.push(name);
      return answersInTurn[Math.min(lookedUpNames.length, answersInTurn.length) - 1]!;
    };

  it('is read from the address that was checked, even if the name resolves to another address afterwards', async () => {
    expect(await read(configured, leadingTo([PUBLIC], [INNER]))).toBe('open.example');
    expect(lookedUpNames).toEqual(['lists.example']);
    expect(privateServer.connections).toBe(0);
  });

  it('has its address checked at each redirect, because the name may resolve to another address', async () => {
    publicServer.behave = answers(302, { location: '/again' });
    await expect(read(configured, leadingTo([PUBLIC], [INNER]))).rejects.toThrow(
      'The server redirected to lists.example: not a public address',
    );
    expect([publicServer.connections, privateServer.connections]).toEqual([1, 0]);
  });

  it.each([
    [[INNER]],
    [[INNER, PUBLIC]],
    [[PUBLIC, INNER]],
    [[PUBLIC, '10.0.0.1']],
    [['::1']],
    [['::ffff:7f00:1']],
    [[PUBLIC, 'fd00:ec2::254']],
  ])('is rejected if the name resolves to %j, because not every address is public', async (addresses) => {
    await expect(read(configured, leadingTo(addresses))).rejects.toThrow(
      'The server redirected to lists.example: not a public address',
    );
    expect([publicServer.connections, privateServer.connections]).toEqual([0, 0]);
  });

  it('is rejected if the host name does not resolve', async () => {
    await expect(read(configured, leadingTo([]))).rejects.toThrow(
      'The server redirected to lists.example: the host name does not resolve',
    );
  });

  it.each([`http://${INNER}`, 'http://[::1]', 'http://[::ffff:7f00:1]'])(
    'is rejected without a DNS lookup if it redirects to %s',
    async (target) => {
      publicServer.behave = answers(302, { location: `${target}:${port}/list` });
      await expect(read(configured, leadingTo([PUBLIC]))).rejects.toThrow(/: not a public address$/);
      expect(lookedUpNames).toEqual(['lists.example']);
      expect(privateServer.connections).toBe(0);
    },
  );

  it('has its DNS lookup aborted at the timeout of the list and when the service stops', async () => {
    const endless: LookUp = () => new Promise(() => {});
    await expect(read(configured, endless, { timeoutMs: 300 })).rejects.toThrow(
      'The download did not finish within 300 ms',
    );
    const stop = new AbortController();
    const abortingLookUp: LookUp = async () => {
      stop.abort(new Error('the process ends'));
      return new Promise(() => {});
    };
    await expect(read(configured, abortingLookUp, { stop: stop.signal })).rejects.toThrow('the process ends');
  });
});

describe('A list fetched over HTTPS', () => {
  it('is rejected if it redirects to HTTP, even at a public address', async () => {
    const publicServer = new ListServer();
    const target = await publicServer.start(PUBLIC);
    const secure = https.createServer({ key: KEY, cert: CERTIFICATE }, (_, response) =>
      response.writeHead(302, { location: `${target}/list` }).end(),
    );
    secure.listen(0, INNER);
    await once(secure, 'listening');
    const { port } = secure.address() as AddressInfo;
    const fetching = read(`https://localhost:${port}/list`, async () => [PUBLIC]);
    await expect(fetching).rejects.toThrow('The server redirected from HTTPS to HTTP');
    expect(publicServer.connections).toBe(0);
    secure.close();
    await publicServer.stop();
  });
});
