import { getEventListeners, once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { createServer as createTlsServer } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { NetworkPolicy, Destinations } from '../../../src/egress.js';
import { Connection, Egress } from '../../../src/webhooks/delivery/send.js';
import { PRIVATE_ADDRESSES, PRIVATE_HOSTS } from '../../support/cases/private-addresses.js';
import { eventually } from '../../support/eventually.js';
import { answering, Receiver } from '../../support/receiver.js';

const PUBLIC = '93.184.216.34';

const connectionTo = (destinations: Destinations): Connection => new Connection(new Egress(destinations));
const send = (connection: Connection, url: string) =>
  connection.send(
    { url: new URL(url), headers: { 'content-type': 'application/json' }, body: Buffer.from('{}') },
    new AbortController().signal,
  );

afterEach(() => void jest.useRealTimers());

describe('A delivery', () => {
  const listener = new Receiver();
  beforeAll(() => listener.start());
  afterAll(() => listener.stop());

  it('is never sent to a private address, in any notation', async () => {
    for (const host of PRIVATE_HOSTS)
      for (const scheme of ['http', 'https']) {
        const destinations = new Destinations(new NetworkPolicy([]));
        const answer = await send(connectionTo(destinations), `${scheme}://${host}:${listener.port}/`);
        expect([host, answer]).toEqual([host, { error: 'not a public address' }]);
      }
    expect(listener.connections).toBe(0);
  });

  it('is never sent to a host name if any of its addresses is private', async () => {
    for (const address of PRIVATE_ADDRESSES)
      for (const addresses of [[address], [PUBLIC, address], [address, PUBLIC, '2606:2800:220:1::1']]) {
        const destinations = new Destinations(new NetworkPolicy([]), async () => addresses);
        const answer = await send(connectionTo(destinations), `https://public.example:${listener.port}/`);
        expect(answer).toEqual({ error: 'not a public address' });
      }
    expect(listener.connections).toBe(0);
  });

  it('is sent to the address that was checked, even if the name resolves to another address afterwards', async () => {
    const answers = [['127.0.0.2'], ['127.0.0.1']];
    let looks = 0;
    const checked = new Receiver();
    await checked.start('127.0.0.2');
    const destinations = new Destinations(new NetworkPolicy(['127.0.0.2']), async () => answers[Math.min(looks++, 1)]!);
    const connection = connectionTo(destinations);
    const url = `http://changing.example:${checked.port}/`;
    expect(await send(connection, url)).toMatchObject({ status: 204 });
    expect(looks).toBe(1);
    expect(checked.received[0]!.headers.host).toBe(`changing.example:${checked.port}`);
    // The name is looked up again at the next attempt, although the connection is still open.
    expect(await send(connection, url)).toEqual({ error: 'not a public address' });
    expect(looks).toBe(2);
    expect([checked.connections, listener.connections]).toEqual([1, 0]);
    connection.end();
    await checked.stop();
  });

  it('does not follow redirects', async () => {
    const outside = new Receiver();
    const url = await outside.start();
    for (const status of [301, 302, 303, 307, 308]) {
      outside.react = answering(status, { location: `http://127.0.0.1:${listener.port}/` });
      const answer = await send(connectionTo(new Destinations(new NetworkPolicy(['127.0.0.1']))), url);
      expect(answer).toMatchObject({ status, error: `responded with ${status}; redirects are not followed` });
    }
    expect(listener.connections).toBe(0);
    await outside.stop();
  });

  it('is sent by http only to addresses that the operator has allowed', async () => {
    const answer = await send(
      connectionTo(new Destinations(new NetworkPolicy([]), async () => [PUBLIC])),
      'http://public.example/',
    );
    expect(answer).toEqual({ error: 'https is required' });
    const allowed = new Destinations(new NetworkPolicy(['127.0.0.0/8']), async () => [PUBLIC]);
    expect(await send(connectionTo(allowed), 'http://public.example/')).toEqual({ error: 'https is required' });
  });

  it('sends the host name as TLS server name, to the address that was looked up', async () => {
    const names: string[] = [];
    const server = createTlsServer({
      SNICallback: (name, done) => {
        names.push(name);
        done(new Error('no certificate'));
      },
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const destinations = new Destinations(new NetworkPolicy(['127.0.0.1']), async () => ['127.0.0.1']);
    const answer = await send(connectionTo(destinations), `https://hooks.example:${port}/`);
    expect(names).toEqual(['hooks.example']);
    expect(answer.error).toMatch(/^(?:the server does not support TLS|the connection was (?:reset|closed).*)$/);
    server.close();
  });

  it('fails if the lookup and the connection together take more than 5 s', async () => {
    const silentServer = createServer().listen(0, '127.0.0.1');
    await once(silentServer, 'listening');
    const { port } = silentServer.address() as AddressInfo;
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance', 'Date'] });
    let answerLookUp!: (addresses: string[]) => void;
    const lookUp = () => new Promise<string[]>((resolve) => (answerLookUp = resolve));
    const connection = connectionTo(new Destinations(new NetworkPolicy(['127.0.0.0/8']), lookUp));
    let answer: unknown;
    const sent = send(connection, `https://silent.example:${port}/`).then((given) => (answer = given));
    jest.advanceTimersByTime(4_500);
    const connected = once(silentServer, 'connection');
    answerLookUp(['127.0.0.1']);
    const [socket] = (await connected) as [Socket];
    await jest.advanceTimersByTimeAsync(499);
    expect(answer).toBeUndefined();
    await jest.advanceTimersByTimeAsync(1);
    await sent;
    expect(answer).toEqual({ error: 'no connection was established within 5 s' });
    socket.destroy();
    silentServer.close();
  });

  it('fails if no complete response arrives within 15 s, and reads no more than the beginning of a response', async () => {
    const receiver = new Receiver();
    const url = await receiver.start();
    const connection = connectionTo(new Destinations(new NetworkPolicy(['127.0.0.1'])));
    const answeringWith = (body: string): Promise<void> =>
      new Promise((resolve) => {
        receiver.react = (_, response) => void response.writeHead(500).write(body, () => resolve());
      });
    // The response does not end, but its beginning suffices.
    void answeringWith('x'.repeat(4_096));
    expect(await send(connection, url)).toMatchObject({ status: 500, text: 'x'.repeat(1_024) });
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance', 'Date'] });
    const answered = answeringWith('x');
    let answer: unknown;
    const sent = send(connection, url).then((given) => (answer = given));
    await answered;
    await jest.advanceTimersByTimeAsync(14_000);
    expect(answer).toBeUndefined();
    await jest.advanceTimersByTimeAsync(1_000);
    await sent;
    expect(answer).toEqual({ error: 'no complete response arrived within 15 s' });
    await receiver.stop();
  });

  it('leaves nothing behind in the signal that cancels all deliveries', async () => {
    const receiver = new Receiver();
    const url = new URL(await receiver.start());
    const connection = connectionTo(new Destinations(new NetworkPolicy(['127.0.0.1'])));
    const stop = new AbortController().signal;
    for (let n = 0; n < 3; n += 1)
      expect(await connection.send({ url, headers: {}, body: Buffer.from('{}') }, stop)).toMatchObject({ status: 204 });
    expect(getEventListeners(stop, 'abort')).toEqual([]);
    // Node stores the signals that `AbortSignal.any` derives from this one in a set.
    const sets = Object.getOwnPropertySymbols(stop).map((name) => (stop as never)[name] as unknown);
    expect(sets.filter((value) => value instanceof Set && value.size > 0)).toEqual([]);
    connection.end();
    await receiver.stop();
  });

  it('is cancelled by the signal, before and while the receiver responds', async () => {
    const receiver = new Receiver();
    const url = new URL(await receiver.start());
    receiver.react = () => {};
    const connection = connectionTo(new Destinations(new NetworkPolicy(['127.0.0.1'])));
    const stop = new AbortController();
    const request = { url, headers: {}, body: Buffer.from('{}') };
    const sent = connection.send(request, stop.signal);
    await eventually('the request', () => receiver.received.length === 1);
    stop.abort();
    for (const outcome of [await sent, await connection.send(request, stop.signal)])
      expect(outcome).toEqual({ error: 'the connection failed' });
    await receiver.stop();
  });

  it('reveals nothing about a host except that its address is not public', async () => {
    for (const lookUp of [async () => ['10.1.2.3'], async () => ['127.0.0.1', '10.9.9.9']]) {
      const { error } = await send(
        connectionTo(new Destinations(new NetworkPolicy([]), lookUp)),
        'https://intranet.example/',
      );
      expect(error).toBe('not a public address');
    }
    const failing = new Destinations(new NetworkPolicy([]), () =>
      Promise.reject(new Error('queryA ENOTFOUND ns.internal')),
    );
    expect(await send(connectionTo(failing), 'https://none.example/')).toEqual({
      error: 'the host name does not resolve',
    });
  });
});

/** A receiver that answers each request with these chunks, each in a packet of its own. */
const rawReceiver = async (chunks: readonly string[]): Promise<{ url: string; server: Server }> => {
  const server = createServer((socket) => {
    socket.setNoDelay().on('error', () => {});
    socket.on('data', async () => {
      for (const chunk of chunks) {
        socket.write(chunk);
        await pause(5);
      }
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, server };
};

describe('A delivery to a receiver that sends interim responses', () => {
  const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
  const HINTS = 'HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\n\r\n';
  const BODY = 'HTTP/1.1 100 is the body';
  const FINAL = `HTTP/1.1 200 OK\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`;

  it.each([
    ['100 Continue', [CONTINUE, FINAL]],
    ['100 Continue in one packet with the final response', [CONTINUE + FINAL]],
    ['100 Continue byte by byte', [...CONTINUE, FINAL]],
    ['102 Processing', ['HTTP/1.1 102 Processing\r\n\r\n', FINAL]],
    ['103 Early Hints', [HINTS, FINAL]],
    ['several of them', [HINTS + CONTINUE, CONTINUE + HINTS, FINAL]],
    ['eight of them', [CONTINUE.repeat(8), FINAL]],
  ])('succeeds with the final response: %s', async (_, chunks) => {
    const { url, server } = await rawReceiver(chunks);
    const connection = connectionTo(new Destinations(new NetworkPolicy(['127.0.0.1'])));
    for (let n = 0; n < 2; n += 1) expect(await send(connection, url)).toEqual({ status: 200, text: BODY });
    connection.end();
    server.close();
  });

  it.each([
    ['more than eight of them', [CONTINUE.repeat(9), FINAL]],
    ['one without an end', [`HTTP/1.1 100 Continue\r\nx: ${'x'.repeat(20_000)}`]],
    ['101 Switching Protocols', ['HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n']],
  ])('fails: %s', async (_, chunks) => {
    const { url, server } = await rawReceiver(chunks);
    const connection = connectionTo(new Destinations(new NetworkPolicy(['127.0.0.1'])));
    expect((await send(connection, url)).error).toMatch(/^the (connection was closed|response headers are too large)/);
    server.close();
  });
});

describe('A delivery through WEBHOOK_PROXY', () => {
  let proxy: Server;
  const proxyRequests: string[] = [];
  beforeAll(async () => {
    proxy = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', (head) => {
        proxyRequests.push(head.toString().split('\r\n')[0]!);
        socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n');
      });
    }).listen(0, '127.0.0.1');
    await once(proxy, 'listening');
  });
  afterAll(() => {
    proxy.close();
  });

  it('leaves the lookup and the check of addresses to the proxy', async () => {
    const { port } = proxy.address() as { port: number };
    const destinations = new Destinations(new NetworkPolicy([]), () => Promise.reject(new Error('looked up')));
    const egress = new Egress(destinations, `http://user:secret@127.0.0.1:${port}`);
    const connection = new Connection(egress);
    const answer = await send(connection, 'https://hooks.example/path?query');
    expect(proxyRequests).toEqual(['CONNECT hooks.example:443 HTTP/1.1']);
    expect(answer.error).toBeDefined();
    expect(JSON.stringify(answer)).not.toContain('secret');
    await egress.end();
  });

  it.each([
    ['http', '407', 'the proxy answered with 407; correct the user name and the password in WEBHOOK_PROXY'],
    ['http', 'refused', 'the proxy cannot be reached (ECONNREFUSED)'],
    ['http', '502', undefined],
    ['https', 'not TLS', expect.stringMatching(/^the proxy cannot be reached \((?:EPROTO|ERR_SSL_\w+)\)$/)],
    ['https', 'silence', 'the proxy cannot be reached (UND_ERR_CONNECT_TIMEOUT)'],
  ])('says whose fault it is if the answer of the %s proxy is %s', async (scheme, status, proxyFailure) => {
    const failing = createServer((socket) => {
      socket.on('error', () => {});
      if (status === 'silence') return;
      socket.once('data', () => socket.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`));
    }).listen(0, '127.0.0.1');
    await once(failing, 'listening');
    const { port } = failing.address() as AddressInfo;
    if (status === 'refused') await new Promise((resolve) => failing.close(resolve));
    const egress = new Egress(new Destinations(new NetworkPolicy([])), `${scheme}://127.0.0.1:${port}`);
    for (const url of ['https://hooks.example/', 'http://hooks.example/'])
      expect(await send(new Connection(egress), url)).toEqual(
        proxyFailure === undefined
          ? { error: 'the connection failed' }
          : { error: 'the request could not be sent; the operator has been notified', proxyFailure },
      );
    await egress.end();
    failing.close();
  });

  it('ends when it is cancelled, also while the proxy opens the tunnel', async () => {
    const accepted: Socket[] = [];
    const silent = createServer((socket) => void accepted.push(socket.on('error', () => {}))).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as { port: number };
    const egress = new Egress(new Destinations(new NetworkPolicy([])), `http://127.0.0.1:${port}`);
    const stop = new AbortController();
    const request = { url: new URL('https://hooks.example/'), headers: {}, body: Buffer.from('{}') };
    const sent = new Connection(egress).send(request, stop.signal);
    await eventually('the proxy is asked', () => accepted.length === 1);
    stop.abort();
    expect((await sent).error).toBeDefined();
    for (const socket of accepted) socket.destroy();
    await egress.end();
    silent.close();
  });

  it('accepts interim responses of the receiver', async () => {
    const tunnel = createServer((socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 Connected\r\n\r\n');
        socket.on('data', () => socket.write('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n'));
      });
    }).listen(0, '127.0.0.1');
    await once(tunnel, 'listening');
    const { port } = tunnel.address() as AddressInfo;
    const egress = new Egress(new Destinations(new NetworkPolicy([])), `http://127.0.0.1:${port}`);
    const connection = new Connection(egress);
    for (let n = 0; n < 2; n += 1)
      expect(await send(connection, 'http://hooks.example/')).toMatchObject({ status: 204 });
    await egress.end();
    tunnel.close();
  });
});
