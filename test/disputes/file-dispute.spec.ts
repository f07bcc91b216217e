import { expect, it } from '@jest/globals';
import { loadDisputes } from '../../src/disputes/file-dispute.js';
import { newEvent } from '../../src/event-log/new-event.js';
import { disputesStream } from '../../src/events/streams.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';
import { sharedDatabase } from '../support/open-for-tests.js';

const database = sharedDatabase();

const filed = newEvent({
  type: 'DisputeFiled',
  data: {
    organization: 'acme',
    disputeId: 'dp_1',
    asset: { type: 'URL', content: 'shop.example' },
    content: 'shop.example',
    verdict: { status: 'BLOCKED', source: 'own', sources: [], message: 'is blocked' },
    createdAt: Date.UTC(2026, 2, 1),
    reason: undefined,
    idempotencyKeyHash: undefined,
    bodyHash: undefined,
  },
});

it.each([
  ['an open dispute that the read model lacks', undefined, 1],
  ['no copy of a dispute, which the read model counts', { position: 1n, recordedAt: 0 }, 0],
] as const)('Loading disputes counts %s', async (_, copyOf, count) => {
  const log = new InMemoryEventLog();
  await log.append(disputesStream('acme'), 'any', [filed]);
  const stored = await log.readAll(-1n, 10);
  log.readStream = (stream) =>
    Promise.resolve(
      stored.filter((event) => event.stream === stream).map((event) => ({ ...event, ...(copyOf && { copyOf }) })),
    );
  expect((await loadDisputes(database.pool, log, 'acme', [])).openCount).toBe(count);
});
