import { statement } from '../../src/postgres/statement.js';

/** Stores rows that are newer than the stored ones. */
export const STORE_TAKEDOWNS = statement(
  'takedowns-store',
  {
    organization: 'text[]',
    id: 'text[]',
    version: 'bigint[]',
    eventId: 'uuid[]',
    brand: 'text[]',
    type: 'text[]',
    outcome: 'smallint[]',
    createdAt: 'bigint[]',
    updatedAt: 'bigint[]',
  },
  {},
  `
    insert into takedowns as t (organization, id, version, event_id, brand, type, outcome, created_at, updated_at)
    select * from unnest($1::text[], $2::text[], $3::bigint[], $4::uuid[], $5::text[], $6::text[], $7::smallint[],
      $8::bigint[], $9::bigint[])
    on conflict (organization, id) do update
      set version = excluded.version, event_id = excluded.event_id, brand = excluded.brand, type = excluded.type,
          outcome = excluded.outcome, created_at = excluded.created_at, updated_at = excluded.updated_at
      where (excluded.version, excluded.event_id) > (t.version, t.event_id)`,
);
