import { storeNewest } from '../store-newest.js';

export const STORE_BRANDS = storeNewest(
  'brands-store',
  'brands',
  { organization: 'text', slug: 'text', on: 'boolean', version: 'bigint', eventId: 'uuid', name: 'text' },
  { key: ['organization', 'slug'], names: { slug: 'brand', on: 'registered' } },
);

export const STORE_FLAGS = storeNewest(
  'feature-flags-store',
  'feature_flags',
  { organization: 'text', slug: 'text', on: 'boolean', version: 'bigint', eventId: 'uuid' },
  { key: ['organization', 'slug'], names: { slug: 'flag', on: 'enabled' } },
);
