import { storeNewest } from '../store-newest.js';

export const STORE_TAKEDOWNS = storeNewest(
  'takedowns-store',
  'takedowns',
  {
    organization: 'text',
    id: 'text',
    version: 'bigint',
    eventId: 'uuid',
    brand: 'text',
    type: 'text',
    outcome: 'smallint',
    createdAt: 'bigint',
    updatedAt: 'bigint',
  },
  { key: ['organization', 'id'] },
);
