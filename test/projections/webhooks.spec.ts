import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { v5 } from 'uuid';
import { type ProjectedEvent, transact } from '../../projections/engine/projection.js';
import { webhooks } from '../../projections/webhooks.js';
import { type Webhook, WEBHOOK_TYPES, type WebhookEvent } from '../../src/events/types/organizations.js';
import { sharedDatabase } from '../support/open-for-tests.js';

const database = sharedDatabase();
beforeEach(async () => {
  await database.pool.query('truncate read.webhook_endpoints');
});

const AT = 1_790_000_000_000;
const WEBHOOK: Webhook = {
  organization: 'acme',
  webhookId: 'wh_1',
  url: 'https://acme.example/"hooks"?a={b}',
  types: ['report', 'threat'],
  assetTypes: ['URL', 'X.Y:Z-1'],
  statuses: undefined,
  batch: 100,
  description: 'null',
  state: 'DISABLED',
  disabledReason: 'gone',
  generation: 2,
  masterKey: 'second',
  previousGeneration: 1,
  previousMasterKey: 'first',
  previousUntil: AT + 2,
  startAfter: -1,
  startLog: 'log',
  replay: 3,
  createdAt: AT,
  updatedAt: AT + 1,
  idempotencyKeyHash: 'a'.repeat(64),
  bodyHash: 'b'.repeat(64),
};

const recorded = (data: Partial<Webhook>, revision: number): ProjectedEvent<WebhookEvent> => ({
  event: { type: WEBHOOK_TYPES[revision % WEBHOOK_TYPES.length]!, data: { ...WEBHOOK, ...data } },
  id: v5(String(revision), v5.URL),
  position: BigInt(revision),
  stream: 'webhooks-acme',
  revision: BigInt(revision),
  metadata: {},
  recordedAt: 0,
});

const apply = (events: readonly ProjectedEvent[]): Promise<void> =>
  transact(database.pool, 'read', async (transaction) => {
    const write = await webhooks.prepare(events as readonly ProjectedEvent<WebhookEvent>[], []);
    await write(transaction);
  });
const rows = async (): Promise<Record<string, unknown>[]> =>
  (await database.pool.query('select * from read.webhook_endpoints order by organization, id')).rows;

describe('The projection of webhooks', () => {
  it('stores every field of the event unchanged', async () => {
    await apply([recorded({}, 7)]);
    expect(await rows()).toEqual([
      {
        organization: 'acme',
        id: 'wh_1',
        state: 'DISABLED',
        created_at: AT,
        request_key_hash: 'a'.repeat(64),
        endpoint: JSON.parse(JSON.stringify(WEBHOOK)),
        revision: 7,
      },
    ]);
  });

  it('ends with the newest revision of each endpoint, regardless of order, batches and repeated events', async () => {
    const event = fc.record({
      webhookId: fc.constantFrom('wh_1', 'wh_2', 'wh_3'),
      state: fc.constantFrom('ACTIVE' as const, 'DISABLED' as const, 'DELETED' as const),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(event, { minLength: 1, maxLength: 12 }),
        fc.infiniteStream(fc.nat(1_000)),
        async (given, random) => {
          await database.pool.query('truncate read.webhook_endpoints');
          const events = given.map((data, revision) => recorded({ ...data, batch: 1 + revision }, revision));
          const newest = new Map(given.map(({ webhookId, state }, revision) => [webhookId, { state, revision }]));
          const keyed = [...events, ...events.slice(0, 3)].map((one) => ({ one, key: random.next().value as number }));
          const shuffled = keyed.sort((a, b) => a.key - b.key).map(({ one }) => one);
          const size = 1 + ((random.next().value as number) % 4);
          for (let start = 0; start < shuffled.length; start += size) await apply(shuffled.slice(start, start + size));
          const stored = await rows();
          expect(
            stored.map(({ id, state, revision, endpoint }) => [id, state, revision, (endpoint as Webhook).batch]),
          ).toEqual(
            [...newest]
              .sort(([a], [b]) => (a < b ? -1 : 1))
              .map(([id, { state, revision }]) => [id, state, revision, revision + 1]),
          );
        },
      ),
      { numRuns: 20 },
    );
  });
});
