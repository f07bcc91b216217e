import { storeNewest } from '../store-newest.js';

export const STORE_BRANDS = storeNewest(
  'brands-store',
  'brands',
  { organization: 'text', slug: 'text', isActive: 'boolean', version: 'bigint', eventId: 'uuid', name: 'text' },
  { key: ['organization', 'slug'], names: { slug: 'brand', isActive: 'registered' } },
);

export const STORE_FLAGS = storeNewest(
  'feature-flags-store',
  'feature_flags',
  { organization: 'text', slug: 'text', isActive: 'boolean', version: 'bigint', eventId: 'uuid' },
  { key: ['organization', 'slug'], names: { slug: 'flag', isActive: 'enabled' } },
);
