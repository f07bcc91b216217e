import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  limitConnections,
  limitPipelining,
  closeSlowReaders,
  LOW_MEMORY_RATE,
  type ReadingRate,
  NORMAL_RATE,
} from '../../src/http/connections.js';
import { startApp } from '../support/app.js';
import { eventually } from '../support/eventually.js';

const LIMIT = 5;

const sockets: Socket[] = [];
const servers: Server[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) server.close();
});

/** Opens a connection, sends a GET request and records what arrives. `ask` sends the request again. */
const connection = (url: string, path = '/health/live') => {
  const { hostname, port } = new URL(url);
  const received = { answer: '', isClosed: false, read: 0 };
  const socket = connect(Number(port), hostname.replace(/[[\]]/g, ''));
  sockets.push(socket);
  socket.on('data', (data: Buffer) => {
    received.read += data.length;
    received.answer = (received.answer + data.toString('latin1')).slice(0, 10_000);
  });
  socket.on('error', () => {}).on('close', () => (received.isClosed = true));
  const ask = (): unknown => socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  ask();
  return { socket, received, ask };
};

const isAnswered = ({ received }: ReturnType<typeof connection>): boolean => received.answer.startsWith('HTTP/1.1 200');

describe(`Connections of an address beyond ${LIMIT}`, () => {
  const open = async (env: NodeJS.ProcessEnv, count: number) => {
    const app = await startApp({ env: { MAX_CONNECTIONS_PER_ADDRESS: String(LIMIT), ...env } });
    const all = Array.from({ length: count }, () => connection(app.url));
    await eventually('each connection is answered or closed', () =>
      all.every((each) => each.received.isClosed || isAnswered(each)),
    );
    return { app, all };
  };

  it('are closed and counted, and a new connection is accepted once another one has closed', async () => {
    const { app, all } = await open({}, LIMIT + 3);
    expect(all.filter(isAnswered)).toHaveLength(LIMIT);
    expect(all.filter(({ received }) => received.isClosed && received.answer === '')).toHaveLength(3);
    for (const { socket } of all.filter(isAnswered)) socket.destroy();
    await eventually('another connection is accepted', async () => {
      const other = connection(app.url);
      await eventually(
        'the other connection is answered or closed',
        () => other.received.isClosed || isAnswered(other),
      );
      return isAnswered(other);
    });
    for (const socket of sockets) socket.destroy();
    await eventually('the metrics count the closed connections', async () => {
      const text = await fetch(`${app.url}/metrics`).then(
        (response) => response.text(),
        () => '',
      );
      return /^threat_protection_http_connections_refused_total [3-9]/m.test(text);
    });
    await app.close();
  });

  it('are accepted if the limit is 0, or if trusted proxies are configured', async () => {
    for (const env of [{ MAX_CONNECTIONS_PER_ADDRESS: '0' }, { TRUST_PROXY: '127.0.0.1' }]) {
      const { app, all } = await open(env, LIMIT + 3);
      expect(all.filter(isAnswered)).toHaveLength(LIMIT + 3);
      for (const { socket } of all) socket.destroy();
      await app.close();
    }
  });

  it('are closed even if the address is written as IPv6', async () => {
    const server = createServer((_, response) => response.end());
    servers.push(server);
    limitConnections(server, 2, () => {});
    server.listen(0, '::');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const all = ['127.0.0.1', '127.0.0.1', '127.0.0.1', '[::1]'].map((host) => connection(`http://${host}:${port}`));
    await eventually('each connection is answered or closed', () =>
      all.every((each) => each.received.isClosed || isAnswered(each)),
    );
    expect(all.slice(0, 3).filter(isAnswered)).toHaveLength(2);
    expect(isAnswered(all[3]!)).toBe(true);
  });
});

describe('Pipelined requests', () => {
  const serve = async (maxPipelined: number) => {
    const pendingResponses: (() => void)[] = [];
    let closures = 0;
    const server = createServer((_, response) => void pendingResponses.push(() => response.end('answer')));
    servers.push(server);
    limitPipelining(server, () => (closures += 1), maxPipelined);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { socket, received, ask } = connection(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    return { server, socket, received, ask, pendingResponses, closureCount: () => closures };
  };
  const answers = (text: string): number => text.split('HTTP/1.1 200').length - 1;

  it('are answered in order up to the limit, repeatedly', async () => {
    const { received, ask, pendingResponses, closureCount } = await serve(3);
    for (let round = 1; round <= 3; round += 1) {
      if (round > 1) ask();
      for (let n = 0; n < 3; n += 1) ask();
      await eventually('all requests have arrived', () => pendingResponses.length === 4);
      for (const answer of pendingResponses.splice(0)) answer();
      await eventually('all requests are answered', () => answers(received.answer) === round * 4);
    }
    expect({ closures: closureCount(), isClosed: received.isClosed }).toEqual({ closures: 0, isClosed: false });
  });

  it('end with their connection, once each, although Node ends only the current one', async () => {
    const { server, socket, received, ask, pendingResponses } = await serve(3);
    let [ended, destroyed] = [0, 0];
    server.on('request', (_, response) =>
      response.on('close', () => {
        ended += 1;
        destroyed += response.destroyed ? 1 : 0;
      }),
    );
    for (let n = 0; n < 3; n += 1) ask();
    await eventually('all requests have arrived', () => pendingResponses.length === 4);
    // The second request becomes the current one.
    pendingResponses[0]!();
    await eventually('one request is answered', () => answers(received.answer) === 1);
    socket.destroy();
    await eventually('all requests have ended', () => ended === 4);
    for (const answer of pendingResponses) answer();
    expect([ended, destroyed]).toEqual([4, 4]);
  });

  it('close the connection beyond the limit, and are counted once', async () => {
    const { received, ask, pendingResponses, closureCount } = await serve(3);
    for (let n = 0; n < 50; n += 1) ask();
    await eventually('the connection is closed', () => received.isClosed);
    for (const answer of pendingResponses) answer();
    expect({ closures: closureCount(), answer: received.answer }).toEqual({ closures: 1, answer: '' });
  });
});

describe('A client that reads slowly', () => {
  const WINDOW_MS = 1_200;
  const LARGE = Buffer.alloc(32 * 1024 * 1024, 'x');

  const serve = async (
    bytesPerSecond: number,
    rate: () => ReadingRate = () => ({ windowMs: WINDOW_MS, bytesPerSecond }),
  ): Promise<{ url: string; closures: { count: number }; sweeps: () => number }> => {
    const closures = { count: 0 };
    let sweeps = 0;
    const server = createServer((_, response) => response.end(LARGE));
    servers.push(server);
    const onSweep = (): ReadingRate => {
      sweeps += 1;
      return rate();
    };
    closeSlowReaders(server, () => closures.count++, onSweep, WINDOW_MS / 4);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, closures, sweeps: () => sweeps };
  };

  /** Reads some megabytes per window, which is more than the buffers of the operating system hold. */
  const readSlowly = async (
    { socket, received }: ReturnType<typeof connection>,
    windows: number,
    sweeps: () => number,
  ): Promise<void> => {
    for (let window = 0; window < windows && !received.isClosed; window += 1) {
      socket.pause();
      const swept = sweeps();
      await eventually('half a window has passed', () => sweeps() >= swept + 2);
      const before = received.read;
      const hasReadMore = (): boolean => received.read - before > 3_000_000;
      // At once, because on a busy machine the client would otherwise read the rest of the response in one go.
      const pauseInTime = (): void => void (hasReadMore() && socket.pause());
      socket.on('data', pauseInTime).resume();
      await eventually('the client has read more', () => hasReadMore() || received.isClosed);
      socket.off('data', pauseInTime);
    }
  };

  it('is disconnected if it reads nothing, even if it keeps sending requests', async () => {
    const { url, closures } = await serve(1);
    const silent = [connection(url), connection(url)];
    for (const { socket } of silent) socket.pause();
    const asking = setInterval(() => silent[1]!.ask(), WINDOW_MS / 4);
    await eventually('the server has closed both connections', () => closures.count === 2);
    clearInterval(asking);
    for (const { socket } of silent) socket.resume();
    await eventually('both clients see that their connection is closed', () =>
      silent.every(({ received }) => received.isClosed),
    );
    for (const { received } of silent) expect(received.read).toBeLessThan(LARGE.length);
  });

  it('is disconnected if it reads slower than the minimum rate', async () => {
    const { url, closures, sweeps } = await serve(1_000_000_000);
    const slow = connection(url);
    await readSlowly(slow, 6, sweeps);
    expect({ closures: closures.count, isClosed: slow.received.isClosed }).toEqual({ closures: 1, isClosed: true });
  });

  it('stays connected if it reads fast enough', async () => {
    const { url, closures, sweeps } = await serve(1_000);
    const slow = connection(url);
    await readSlowly(slow, 3, sweeps);
    expect(closures.count).toBe(0);
    slow.socket.resume();
    await eventually('the client has read everything', () => slow.received.read >= LARGE.length);
  });

  it('must read faster while memory is low', async () => {
    let isMemoryLow = false;
    const rate = (): ReadingRate => ({ windowMs: isMemoryLow ? 300 : 600_000, bytesPerSecond: 1_000 });
    const { url, closures, sweeps } = await serve(0, rate);
    const silent = connection(url);
    silent.socket.pause();
    await eventually('a part of the response waits to be read', () => silent.socket.readableLength > 0);
    const before = sweeps();
    await eventually('several sweeps have run', () => sweeps() >= before + 4);
    expect(closures.count).toBe(0);
    isMemoryLow = true;
    await eventually('the server has closed the connection', () => closures.count === 1);
  });

  it('must read 240 KiB in 30 s, and 320 KiB in 5 s while memory is low', () => {
    expect(NORMAL_RATE).toEqual({ windowMs: 30_000, bytesPerSecond: 8_192 });
    expect(LOW_MEMORY_RATE).toEqual({ windowMs: 5_000, bytesPerSecond: 65_536 });
  });
});
