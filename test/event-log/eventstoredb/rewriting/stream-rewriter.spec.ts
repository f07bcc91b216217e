import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Conflict } from '../../../../src/errors.js';
import { ErasedOrganizations } from '../../../../src/event-log/erased-organizations.js';
import { EventStoreConnection } from '../../../../src/event-log/eventstoredb/connection.js';
import {
  readCopy,
  StreamRewriter,
  withoutErased,
} from '../../../../src/event-log/eventstoredb/rewriting/stream-rewriter.js';
import { OurStreams } from '../../../../src/event-log/eventstoredb/streams.js';
import { Writer } from '../../../../src/event-log/eventstoredb/writer.js';
import { erasureDigest } from '../../../../src/events/redacted.js';
import { EventStoreDouble } from '../../../support/eventstore-double/server.js';

const erased = new ErasedOrganizations();
const data = { digest: erasureDigest('log', 'gone'), logId: 'log', startedAt: '2026-03-01T12:00:00.000Z' };
erased.observe({ type: 'OrganizationErasureStarted', data, position: 0n });

it.each([
  ['null', null, undefined],
  [
    'a review that is null',
    [null, { organization: 'gone' }, { organization: 'kept' }],
    [null, { organization: 'kept' }],
  ],
  ['a review without an organization', [{}, { organization: 7 }], undefined],
])('A verdict that another program stored with %s as brandReviews is read', (_, brandReviews, left) => {
  const stream = 'assetStatus-0123456789abcdef0123456789abcdef';
  const id = '00000000-0000-5000-8000-000000000000';
  const stored = { type: 'AssetStatusChanged', data: { brandReviews }, metadata: {}, stream, id };
  const event = { ...stored, position: 1n, revision: 0n, recordedAt: 0 };
  expect(withoutErased(event, erased).data).toEqual({ brandReviews: left ?? brandReviews });
});

describe('The place of the original in the metadata of an event', () => {
  const own = { id: '00000000-0000-5000-8000-000000000000', type: 'T', stream: 'threat-acme:t', data: {} };
  const at = (copyOf: unknown) => ({ ...own, metadata: { a: 1, copyOf }, position: 40n, revision: 0n, recordedAt: 9 });

  it('is read if the position is before that of the copy', () => {
    const copyOf = { position: 39n, recordedAt: 5 };
    expect(readCopy(at({ position: '39', recordedAt: 5 }))).toEqual({ ...at(0), metadata: { a: 1 }, copyOf });
  });

  it.each([
    ['null', null],
    ['a text', '39'],
    ['a list', [39]],
    ['a position that is a number', { position: 39, recordedAt: 5 }],
    ['a negative position', { position: '-1', recordedAt: 5 }],
    ['the position of the event itself', { position: '40', recordedAt: 5 }],
    ['a position that PostgreSQL cannot store', { position: '9999999999999999999', recordedAt: 5 }],
    ['no time', { position: '39' }],
    ['a time that is a text', { position: '39', recordedAt: '5' }],
    ['a time with a fraction', { position: '39', recordedAt: 5.5 }],
  ])('is not read if another program stored %s', (_, copyOf) => {
    const event = at(copyOf);
    expect(readCopy(event)).toBe(event);
  });
});

describe('The truncation of a stream', () => {
  const stream = 'threat-acme:t';
  const metadataStream = `$$${stream}`;
  let double: EventStoreDouble;
  let connection: EventStoreConnection;
  let rewriter: StreamRewriter;
  beforeEach(async () => {
    double = await EventStoreDouble.start();
    connection = EventStoreConnection.to(double.url);
    const streams = new OurStreams('');
    rewriter = new StreamRewriter(connection, streams, new Writer(connection, streams));
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await connection.close();
    await double.stop();
  });

  const store = (metadata: object) =>
    connection.append(
      metadataStream,
      'any',
      [{ id: randomUUID(), type: '$metadata', data: metadata, metadata: {} }],
      2_000,
    );
  const stored = async () => (await connection.readStream(metadataStream, 'end', 1, 'backwards'))[0]?.data;

  /** Calls `write` between the read of the metadata and the append, at most `times` times. */
  const interrupt = (write: () => Promise<unknown>, times: number): void => {
    const readStream = connection.readStream.bind(connection);
    let left = times;
    jest.spyOn(connection, 'readStream').mockImplementation(async (...of) => {
      const read = await readStream(...of);
      if (left-- > 0) await write();
      return read;
    });
  };

  it.each([
    ['without metadata', undefined],
    ['with metadata', { $maxAge: 9, $tb: 1 }],
  ])('of a stream %s is not lowered by a call that read the metadata before another call', async (_, metadata) => {
    if (metadata !== undefined) await store(metadata);
    interrupt(() => rewriter.truncateBefore(stream, 7n), 1);
    await rewriter.truncateBefore(stream, 3n);
    expect(await stored()).toEqual({ ...metadata, $tb: 7 });
  });

  it('is raised by the later of two calls, and keeps what the other call stored', async () => {
    interrupt(() => store({ $maxAge: 9, $tb: 3 }), 1);
    await rewriter.truncateBefore(stream, 7n);
    expect(await stored()).toEqual({ $maxAge: 9, $tb: 7 });
  });

  it('fails with a conflict if another process changes the metadata during each of ten attempts', async () => {
    let writes = 0;
    interrupt(() => store({ n: ++writes }), Number.POSITIVE_INFINITY);
    await expect(rewriter.truncateBefore(stream, 7n)).rejects.toBeInstanceOf(Conflict);
    expect(writes).toBe(10);
  });
});
