import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { fetchList, type Network, redirectTarget } from '../../../src/asset-check/lists/fetch-list.js';
import { answers, ListServer, sends } from './list-server.js';

const never = new AbortController().signal;
/** Stands for the public Internet; the rest of loopback is what must not be reached. */
const PUBLIC = '127.0.0.2';
const INNER = '127.0.0.1';

describe('A list that redirects to a name', () => {
  let lists: ListServer;
  let inner: ListServer;
  let open: ListServer;
  let port: string;
  let asked: string[];

  beforeEach(async () => {
    [lists, inner, open] = [new ListServer(), new ListServer(), new ListServer()];
    const from = await lists.start();
    port = new URL(await inner.start()).port;
    await open.start(PUBLIC, Number(port));
    lists.behave = answers(302, { location: `http://lists.example:${port}/list` });
    inner.behave = sends('inner.example');
    open.behave = sends('open.example');
    configured = from;
    asked = [];
  });
  afterEach(() => Promise.all([lists, inner, open].map((server) => server.stop())));
  let configured: string;

  /** A name server that leads to one thing after the other, and to the last for ever. */
  const leadingTo = (...answersInTurn: readonly (readonly string[])[]): Network => ({
    lookUp: (hostname, _, callback) => {
      asked.push(hostname);
      const found = answersInTurn[Math.min(asked.length, answersInTurn.length) - 1]!;
      callback(
        null,
        found.map((address) => ({ address, family: 4 })),
      );
    },
    isReachable: (address) => address === PUBLIC,
  });

  const read = async (network: Network): Promise<string> => {
    const limits = { timeoutMs: 2_000, maxBytes: 1_000, validators: {} };
    const { body } = await fetchList(configured, limits, never, network);
    const chunks: Buffer[] = [];
    for await (const chunk of body!.chunks) chunks.push(Buffer.from(chunk));
    return Buffer.concat(chunks).toString();
  };

  it('is read from the address that was checked, whatever the name leads to afterwards', async () => {
    expect(await read(leadingTo([PUBLIC], [INNER]))).toBe('open.example');
    expect(asked).toEqual(['lists.example']);
    expect(inner.connections).toBe(0);
  });

  it('is checked again at the next redirect, which may lead elsewhere under the same name', async () => {
    open.behave = answers(302, { location: '/again' });
    await expect(read(leadingTo([PUBLIC], [INNER]))).rejects.toThrow('lists.example resolves to a private address');
    expect(inner.connections).toBe(0);
  });

  it('never falls back to an inner address beside a public one', async () => {
    await open.stop();
    await expect(read(leadingTo([INNER, PUBLIC, '::1', '10.0.0.1']))).rejects.toThrow(/ECONNREFUSED|^$/);
    expect(inner.connections).toBe(0);
    open = new ListServer();
    await open.start();
  });

  it('that leads inside is refused', async () => {
    await expect(read(leadingTo([INNER]))).rejects.toThrow('lists.example resolves to a private address');
    expect(inner.connections).toBe(0);
  });
});

describe('A redirect', () => {
  const network: Network = { lookUp: () => {}, isReachable: () => true };
  const follow = (from: string, to: string): string => redirectTarget(to, new URL(from), network).href;

  it('leads from HTTP to HTTPS, and never from HTTPS to HTTP', () => {
    expect(follow('http://a.example/', 'https://b.example/')).toBe('https://b.example/');
    expect(follow('https://a.example/', '//b.example/')).toBe('https://b.example/');
    expect(() => follow('https://a.example/', 'http://a.example/')).toThrow('It redirected from HTTPS to HTTP');
  });
});
