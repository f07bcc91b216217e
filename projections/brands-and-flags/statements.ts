import { statement } from '../../src/postgres/statement.js';

export const STORE_BRANDS = statement(
  'brands-store',
  { organization: 'text[]', slug: 'text[]', on: 'boolean[]', version: 'bigint[]', eventId: 'uuid[]', name: 'text[]' },
  {},
  `
    insert into brands as b (organization, brand, registered, version, event_id, name)
    select * from unnest($1::text[], $2::text[], $3::boolean[], $4::bigint[], $5::uuid[], $6::text[])
    on conflict (organization, brand) do update
      set registered = excluded.registered, version = excluded.version, event_id = excluded.event_id, name = excluded.name
      where (excluded.version, excluded.event_id) > (b.version, b.event_id)`,
);

export const STORE_FLAGS = statement(
  'feature-flags-store',
  { organization: 'text[]', slug: 'text[]', on: 'boolean[]', version: 'bigint[]', eventId: 'uuid[]' },
  {},
  `
    insert into feature_flags as f (organization, flag, enabled, version, event_id)
    select * from unnest($1::text[], $2::text[], $3::boolean[], $4::bigint[], $5::uuid[])
    on conflict (organization, flag) do update
      set enabled = excluded.enabled, version = excluded.version, event_id = excluded.event_id
      where (excluded.version, excluded.event_id) > (f.version, f.event_id)`,
);
