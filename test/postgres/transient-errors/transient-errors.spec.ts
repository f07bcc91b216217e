import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, it } from '@jest/globals';
import { asUnavailable, isTransient, onConnectionFailure } from '../../../src/postgres/transient-errors.js';

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

const coded = (code: string, message: string): Error => Object.assign(new Error(message), { code });

describe('onConnectionFailure', () => {
  afterEach(() => onConnectionFailure(() => {}));

  it('is told why a connection failed, which clients do not read, and not why a statement failed', () => {
    const told: string[] = [];
    onConnectionFailure((text) => told.push(text));
    const failures = [
      coded('CERT_HAS_EXPIRED', 'certificate has expired'),
      coded('28P01', 'password authentication failed for user "x"'),
      Object.assign(new AggregateError([coded('ECONNREFUSED', 'connect ECONNREFUSED ::1:1')]), {
        code: 'ECONNREFUSED',
      }),
      coded('57014', 'canceling statement due to statement timeout'),
      coded('40001', 'could not serialize access'),
    ];
    for (const failure of failures)
      expect(asUnavailable(failure)).toMatchObject({ message: 'The database did not answer; try again' });
    expect(told).toEqual([
      'The database does not answer: certificate has expired',
      expect.stringContaining('correct the user and password in DATABASE_URL'),
      'The database does not answer: connect ECONNREFUSED ::1:1',
    ]);
  });
});
