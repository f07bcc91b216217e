import { afterAll, describe, expect, it, jest } from '@jest/globals';
import { ConfigError } from '../../../src/runtime/config.js';
import { Unavailable } from '../../../src/errors.js';
import { connectBy } from '../../../src/event-log/eventstoredb/connection-string.js';
import { EventStoreConnection } from '../../../src/event-log/eventstoredb/connection.js';
import { appendFailure, DeniedByStore, isStrayClientRejection } from '../../../src/event-log/eventstoredb/failures.js';

/** Returns the reason that the log line of a 503 contains. */
const reasonOf = (error: unknown): string => {
  const failure = appendFailure('threat-a:1', 'any', error);
  expect(failure).toBeInstanceOf(Unavailable);
  return (failure.cause as Error).message;
};

describe('The reason of a failure', () => {
  for (const [serverMessage, meaning] of [
    ['Server Is Not Ready', 'EventStoreDB is not ready: it is starting, or its cluster has no leader'],
    ['Server Is Busy', 'EventStoreDB is too busy to take more'],
    ['Server Is Too Busy', 'EventStoreDB is too busy to take more'],
    ['No leader info available', 'This node of EventStoreDB is not the leader, and does not know it yet'],
    ['Leader info available', 'This node of EventStoreDB is not the leader'],
  ] as const)
    it(`is translated from the server message: ${serverMessage}`, () => {
      // The message occurs in the response to an append and in the status of a call.
      expect(reasonOf(new Error(`Could not recognize ${serverMessage}`))).toBe(meaning);
      expect(
        reasonOf(Object.assign(new Error(`14 UNAVAILABLE: ${serverMessage}`), { code: 14, details: serverMessage })),
      ).toBe(meaning);
    });

  it('is the message of the server without the prefix of gRPC if the message is unknown', () => {
    expect(reasonOf(new Error('13 INTERNAL: Something\n new'))).toBe('Something new');
  });

  it('is DeniedByStore, which is not retried, for an unknown user or a missing permission', () => {
    for (const error of [{ type: 'access-denied', message: '7 PERMISSION_DENIED: Access Denied' }, { code: 16 }])
      expect(appendFailure('threat-a:1', 'any', error).cause).toBeInstanceOf(DeniedByStore);
  });
});

describe('A cluster without a reachable node', () => {
  const connection = EventStoreConnection.to(
    'esdb://127.0.0.1:1,127.0.0.1:2?tls=false&maxDiscoverAttempts=2&discoveryInterval=10',
  );
  afterAll(() => connection.close());

  it('is reported as unavailable', async () => {
    const failure = await connection.readEnd().catch((error: Error) => error);
    expect(failure).toBeInstanceOf(Unavailable);
    const { cause } = failure as Error;
    expect((cause as Error).message).toBe(
      'No node of EventStoreDB that EVENTSTORE_URL names answered, or none of them leads',
    );
    // The client also rejects promises that nobody awaits with this error.
    expect(isStrayClientRejection((cause as Error).cause)).toBe(true);
  });
});

describe('An unhandled rejection', () => {
  const failing = async (call: () => unknown): Promise<unknown> =>
    Promise.resolve()
      .then(call)
      .catch((error: unknown) => error);
  /** The frames of a client that runs a callback. */
  const FRAMES = [
    '    at Subscription._transform (/app/node_modules/@eventstore/db-client/dist/streams/utils/Subscription.js:60:19)',
    '    at Object.onReceiveMessage (/app/node_modules/@grpc/grpc-js/build/src/client.js:300:15)',
  ].join('\n');

  it('ends the process if a callback of this service caused the rejection, although the client ran the callback', async () => {
    for (const call of [() => (undefined as unknown as Error).message, () => new URL('no URL')]) {
      const error = (await failing(call)) as Error;
      error.stack += `\n${FRAMES}`;
      expect(isStrayClientRejection(error)).toBe(false);
    }
  });

  it('is ignored if the client caused the rejection', () => {
    for (const origin of [
      '    at callErrorFromStatus (/app/node_modules/@grpc/grpc-js/build/src/call.js:32:19)',
      '    at Writable.write (node:internal/streams/writable:510:10)\n' +
        '    at backpressuredWrite (/app/node_modules/@eventstore/db-client/dist/utils/backpressuredWrite.js:9:20)',
    ])
      expect(
        isStrayClientRejection(Object.assign(new Error('Failed'), { stack: `Error: Failed\n${origin}\n${FRAMES}` })),
      ).toBe(true);
  });
});

describe('A node preference', () => {
  const connect = jest.fn((url: string) => url);
  const at = 'esdb://127.0.0.1:1?tls=false';

  for (const preference of ['follower', 'random', 'read_only_replica', 'leaders'])
    it(`is rejected if it is ${preference}`, () => {
      expect(() => connectBy(`${at}&nodePreference=${preference}`, connect)).toThrow(
        new ConfigError(
          'EVENTSTORE_URL has a nodePreference that is not leader; the service reads and writes at the leader only',
        ),
      );
      expect(connect).not.toHaveBeenCalled();
    });

  it('is always set to leader, whether or not the URL sets it', () => {
    for (const url of [at, `${at}&nodePreference=leader`])
      expect(connectBy(url, connect)).toContain('nodePreference=leader');
  });
});
