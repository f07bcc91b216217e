import { nullable, statement } from '../../src/postgres/statement.js';
import { LISTED_KIND } from '../../src/read-models/listed-kind.js';

/** Stores rows that are newer than the stored ones. @returns the keys of those it stored */
export const STORE_RECORDS = statement(
  'records-store',
  {
    organization: 'text[]',
    kind: 'smallint[]',
    id: 'text[]',
    version: 'bigint[]',
    eventId: 'uuid[]',
    position: 'bigint[]',
    storedAt: 'bigint[]',
    createdAt: 'bigint[]',
    updatedAt: 'bigint[]',
    status: 'text[]',
    type: 'text[]',
    content: 'text[]',
    hash: 'uuid[]',
    brands: 'text[]',
  },
  { organization: 'text', kind: 'smallint', id: 'text' },
  `
    insert into listed_records as r (organization, kind, id, version, event_id, position, stored_at, created_at,
      updated_at, status, type, content, asset, brands)
    select organization, kind, id, version, event_id, position, stored_at, created_at, updated_at, status, type, content,
      asset, string_to_array(brands, ',')
    from unnest($1::text[], $2::smallint[], $3::text[], $4::bigint[], $5::uuid[], $6::bigint[], $7::bigint[],
      $8::bigint[], $9::bigint[], $10::text[], $11::text[], $12::text[], $13::uuid[], $14::text[])
      i (organization, kind, id, version, event_id, position, stored_at, created_at, updated_at, status, type, content,
        asset, brands)
    on conflict (organization, kind, id) do update
      set version = excluded.version, event_id = excluded.event_id, position = excluded.position,
          stored_at = excluded.stored_at, created_at = excluded.created_at, updated_at = excluded.updated_at,
          status = excluded.status, type = excluded.type, content = excluded.content, asset = excluded.asset,
          brands = excluded.brands
      where (excluded.version, excluded.event_id) > (r.version, r.event_id)
    returning organization, kind, id`,
);

/** By the order of the primary key, as in `READ_VERDICTS`: an index by brand has equal columns too, far apart. */
export const DELETE_OF_BRANDS = statement(
  'records-delete-of-brands',
  { organization: 'text[]', kind: 'smallint[]', id: 'text[]' },
  {},
  `
    delete from brand_records b
    using unnest($1::text[], $2::smallint[], $3::text[]) d (organization, kind, id)
    cross join lateral (
      select r.ctid as place from brand_records r
      where (r.organization, r.kind, r.id) >= (d.organization, d.kind, d.id)
        and (r.organization, r.kind, r.id) <= (d.organization, d.kind, d.id)
      order by r.organization, r.kind, r.id, r.brand
    ) of_record
    where b.ctid = of_record.place`,
);

export const INSERT_OF_BRANDS = statement(
  'records-insert-of-brands',
  {
    organization: 'text[]',
    kind: 'smallint[]',
    id: 'text[]',
    brand: 'text[]',
    at: 'bigint[]',
    status: 'text[]',
    type: 'text[]',
    hash: 'uuid[]',
  },
  {},
  `
    insert into brand_records (organization, kind, id, brand, at, status, type, asset)
    select * from unnest($1::text[], $2::smallint[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[],
      $8::uuid[])`,
);

export const READ_ENTRIES = statement(
  'records-read-entries',
  { changeIds: 'text[]' },
  {
    changeId: 'text',
    version: 'bigint',
    eventId: 'uuid',
    /** All whose verdict it is or was. */
    organizations: 'text[]',
  },
  `
    select change_id as "changeId", version, event_id as "eventId", organizations
    from reviewed_entries where change_id = any($1::text[])`,
);

/**
 * The first row from the key on, if it is the key's. An order can only come from the primary key; to find equal columns
 * the planner may take any index that begins with the organization, and read all of its verdicts each time.
 */
export const READ_VERDICTS = statement(
  'records-read-verdicts',
  { organization: 'text[]', changeId: 'text[]' },
  {
    organization: 'text',
    id: 'text',
    /** Null: deleted, like the rest. */
    createdAt: nullable('bigint'),
    status: nullable('text'),
    type: nullable('text'),
    content: nullable('text'),
    brands: nullable('text[]'),
  },
  `
    select r.organization, r.id, r.created_at as "createdAt", r.status, r.type, r.content, r.brands
    from unnest($1::text[], $2::text[]) i (organization, id)
    cross join lateral (
      select * from listed_records
      where (organization, kind, id) >= (i.organization, ${LISTED_KIND.verdict}::smallint, i.id)
      order by organization, kind, id limit 1
    ) r
    where r.organization = i.organization and r.kind = ${LISTED_KIND.verdict} and r.id = i.id`,
);

export const STORE_ENTRIES = statement(
  'records-store-entries',
  { changeId: 'text[]', version: 'bigint[]', eventId: 'uuid[]', organizations: 'text[]' },
  {},
  `
    insert into reviewed_entries as e (change_id, version, event_id, organizations)
    select change_id, version, event_id, string_to_array(organizations, ',')
    from unnest($1::text[], $2::bigint[], $3::uuid[], $4::text[]) i (change_id, version, event_id, organizations)
    on conflict (change_id) do update
      set version = excluded.version, event_id = excluded.event_id, organizations = excluded.organizations`,
);
