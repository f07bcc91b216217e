import { CLOCK } from '../postgres/statements.js';
import { json, nullable, statement } from '../postgres/statement.js';

/**
 * Reads the open disputes of an organization about these assets, and the disputes that were filed by requests with these
 * keys. If there are no such disputes, the result is one row without a dispute.
 */
export const KNOWN_DISPUTES = statement(
  'disputes-known',
  { organization: 'text', assets: 'uuid[]', keyHashes: 'text[]' },
  {
    now: 'bigint',
    /** The revision of the organization's stream that the read model has reached. */
    reached: nullable('bigint'),
    /** The number of all open disputes of the organization. */
    openCount: 'bigint',
    asset: nullable('uuid'),
    isOpen: nullable('boolean'),
    /** The data of `DisputeFiled`. */
    filed: nullable(json<object>()),
  },
  `
    select ${CLOCK} as now, (select max(revision) from read.disputes where organization = $1) as reached,
      (
        select count(*) from read.disputes
        where organization = $1 and created_at is not null and resolved_at is null
      ) as "openCount",
      d.asset, d.resolved_at is null as "isOpen", d.filed::json -> 'data' as filed
    from (select) one left join lateral (
      select id, asset, resolved_at, filed from read.disputes
      where organization = $1 and asset = any($2::uuid[]) and created_at is not null and resolved_at is null
      union
      select id, asset, resolved_at, filed from read.disputes
      where organization = $1 and request_key_hash = any($3::text[])
    ) d on true`,
);
