import { describe, expect, it } from '@jest/globals';
import { ErasedOrganizations } from '../../../../src/event-log/erased-organizations.js';
import { readCopy, withoutErased } from '../../../../src/event-log/eventstoredb/rewriting/stream-rewriter.js';
import { erasureDigest } from '../../../../src/events/redacted.js';

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
