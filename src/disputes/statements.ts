import { CLOCK } from '../postgres/statements.js';
import { json, nullable, statement } from '../postgres/statement.js';
import { MS_PER_DAY } from '../events/instant.js';

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

const MS_PER_HOUR = 3_600_000;

export const STORE_DISPUTE_CONTACT = statement(
  'dispute-contacts-store',
  { organization: 'text', dispute: 'text', contact: 'text' },
  {},
  `
    insert into service.dispute_contacts (organization, dispute, contact, stored_at) values ($1, $2, $3, ${CLOCK})
    on conflict do nothing`,
);

/**
 * Erases the contacts of disputes that were resolved `keptDays` ago, and the contacts of requests that filed no dispute.
 * A contact is stored before its dispute, so a dispute is missing only if the read model includes everything from an
 * hour after the contact was stored.
 */
export const ERASE_DISPUTE_CONTACTS = statement(
  'dispute-contacts-erase',
  { keptDays: 'bigint' },
  {},
  `
    delete from service.dispute_contacts c
    where exists (
      select from read.disputes d
      where d.organization = c.organization and d.id = c.dispute
        and d.resolved_at <= ${CLOCK} - $1::bigint * ${MS_PER_DAY}
    ) or (
      c.stored_at < (select as_of from read.checkpoints where projection = 'records') - ${MS_PER_HOUR}
      and not exists (
        select from read.disputes d
        where d.organization = c.organization and d.id = c.dispute and d.created_at is not null
      )
    )`,
);
