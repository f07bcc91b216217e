import { storeNewest } from '../store-newest.js';

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
