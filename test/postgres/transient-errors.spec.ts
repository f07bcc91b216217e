import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { isTransient } from '../../src/postgres/transient-errors.js';

describe('A transient error', () => {
  it('is what Node says of a connection that was refused or reset', async () => {
    const server = createServer((socket) => socket.resetAndDestroy()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const failureOf = (host: string): Promise<unknown> =>
      new Promise((resolve) => connect(port, host).once('error', resolve).resume().write('x'));
    const reset = await failureOf('127.0.0.1');
    await new Promise((resolve) => server.close(resolve));
    expect(isTransient(reset)).toBe(true);
    expect(isTransient(await failureOf('127.0.0.1'))).toBe(true);
    expect(isTransient(await failureOf('localhost'))).toBe(true);
  });

  it('is one of several of which one is transient', () => {
    const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
    expect(isTransient(new AggregateError([new Error('other'), refused]))).toBe(true);
    expect(isTransient(new AggregateError([new Error('other')]))).toBe(false);
  });

  it('is not a wrong statement, nor anything that is no error', () => {
    expect(isTransient(Object.assign(new Error('syntax error'), { code: '42601' }))).toBe(false);
    expect(isTransient(runInNewContext('({ code: "ECONNRESET", message: "Connection terminated" })'))).toBe(false);
    expect(isTransient('ECONNRESET')).toBe(false);
  });
});
