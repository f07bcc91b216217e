import { expect, it } from '@jest/globals';
import { ErasedOrganizations } from '../../../../src/event-log/erased-organizations.js';
import { withoutErased } from '../../../../src/event-log/eventstoredb/rewriting/stream-rewriter.js';
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
