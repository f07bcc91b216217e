import { nullable, statement } from '../../src/postgres/statement.js';
import { LISTED_KIND } from '../../src/events/kinds.js';
import { storeNewest } from '../store-newest.js';

/** Stores records and returns the keys of the stored rows. */
export const STORE_RECORDS = storeNewest(
  'records-store',
  'listed_records',
  {
    organization: 'text',
    kind: 'smallint',
    id: 'text',
    version: 'bigint',
    eventId: 'uuid',
    position: 'bigint',
    storedAt: 'bigint',
    createdAt: 'bigint',
    status: 'text',
    type: 'text',
    hash: 'uuid',
    item: 'text',
  },
  {
    key: ['organization', 'kind', 'id'],
    names: { hash: 'asset' },
    returning: { organization: 'text', kind: 'smallint', id: 'text' },
  },
);

/**
 * The order forces a scan of the primary key, as in `READ_VERDICTS`. An index by brand would read many more entries.
 */
export const DELETE_BRAND_RECORDS = statement(
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

export const INSERT_BRAND_RECORDS = statement(
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
    /** All organizations that have or had a verdict by this entry. */
    organizations: 'text[]',
  },
  `
    select change_id as "changeId", version, event_id as "eventId", organizations
    from reviewed_entries where change_id = any($1::text[])`,
);

/**
 * Reads verdicts by key. The query selects the first row from the key on, because only the primary key provides this
 * order. For a plain equality, the planner may use any index that begins with the organization, and read all of its
 * verdicts.
 */
export const READ_VERDICTS = statement(
  'records-read-verdicts',
  { organization: 'text[]', changeId: 'text[]' },
  {
    organization: 'text',
    id: 'text',
    /** Null: deleted. */
    item: nullable('text'),
  },
  `
    select r.organization, r.id, r.item
    from unnest($1::text[], $2::text[]) i (organization, id)
    cross join lateral (
      select * from listed_records
      where (organization, kind, id) >= (i.organization, ${LISTED_KIND.verdict}::smallint, i.id)
      order by organization, kind, id limit 1
    ) r
    where r.organization = i.organization and r.kind = ${LISTED_KIND.verdict} and r.id = i.id`,
);

export const STORE_ENTRIES = storeNewest(
  'records-store-entries',
  'reviewed_entries',
  { changeId: 'text', version: 'bigint', eventId: 'uuid', organizations: 'text[]' },
  { key: ['changeId'] },
);
