import { storeNewest } from './store-newest.js';
import { type Webhook, WEBHOOK_TYPES, type WebhookEvent } from '../src/events/types/organizations.js';
import type { ProjectedEvent, Projection } from './engine/projection.js';

export const STORE_ENDPOINTS = storeNewest(
  'webhooks-store',
  'webhook_endpoints',
  {
    organization: 'text',
    id: 'text',
    state: 'text',
    createdAt: 'bigint',
    idempotencyKeyHash: 'text',
    revision: 'bigint',
    endpoint: 'jsonb',
  },
  { key: ['organization', 'id'], orderBy: 'revision', names: { idempotencyKeyHash: 'request_key_hash' } },
);

const rowOf = (endpoint: Webhook, revision: bigint) => {
  const { organization, webhookId: id, state, createdAt, idempotencyKeyHash } = endpoint;
  return { organization, id, state, createdAt, idempotencyKeyHash, revision, endpoint };
};

/**
 * The webhook endpoints of each organization. The row of a deleted endpoint is kept, so that older events cannot
 * restore the endpoint.
 */
export const webhooks: Projection<WebhookEvent> = {
  name: 'webhooks',
  tables: ['webhook_endpoints'],
  types: WEBHOOK_TYPES,
  prepare:
    async (events) =>
    async ({ connection }) => {
      const newest = new Map<string, ProjectedEvent<WebhookEvent>>();
      for (const projected of events) {
        const { organization, webhookId } = projected.event.data;
        const key = `${organization}:${webhookId}`;
        const known = newest.get(key);
        if (!known || known.revision < projected.revision) newest.set(key, projected);
      }
      const rows = [...newest.values()].map(({ event, revision }) => rowOf(event.data, revision));
      await STORE_ENDPOINTS.runEach(connection, rows);
    },
};
