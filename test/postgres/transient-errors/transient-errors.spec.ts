import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { isTransient } from '../../../src/postgres/transient-errors.js';

describe('isTransient', () => {
  it('accepts the errors of Node for a connection that was refused or reset', async () => {
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

  it('accepts an aggregate error if one of its errors is transient', () => {
    const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
    expect(isTransient(new AggregateError([new Error('other'), refused]))).toBe(true);
    expect(isTransient(new AggregateError([new Error('other')]))).toBe(false);
  });

  it('does not accept the error of a wrong statement, or a value that is not an error', () => {
    expect(isTransient(Object.assign(new Error('syntax error'), { code: '42601' }))).toBe(false);
    expect(isTransient(runInNewContext('({ code: "ECONNRESET", message: "Connection terminated" })'))).toBe(false);
    expect(isTransient('ECONNRESET')).toBe(false);
  });
});
