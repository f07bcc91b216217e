import { CLOCK } from '../postgres/statements.js';
import { json, nullable, statement } from '../postgres/statement.js';
import { MS_PER_DAY } from '../events/instant.js';
import { expiringRows } from '../read-models/expiry/expiring-rows-sql.js';

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
/** How long the contact of a dispute is kept after the resolution. */
const CONTACT_KEPT_DAYS = 90;

export const STORE_DISPUTE_CONTACTS = statement(
  'dispute-contacts-store',
  { organization: 'text', dispute: 'text[]', contact: 'text[]' },
  {},
  `
    insert into service.dispute_contacts (organization, dispute, contact, stored_at)
    select $1, i.*, ${CLOCK} from unnest($2::text[], $3::text[]) i (dispute, contact) on conflict do nothing`,
);

/** Removes the contacts of disputes that were not filed. */
export const REMOVE_DISPUTE_CONTACTS = statement(
  'dispute-contacts-remove',
  { organization: 'text', disputes: 'text[]' },
  {},
  'delete from service.dispute_contacts where organization = $1 and dispute = any($2::text[])',
);

const CONTACTS = {
  table: 'service.dispute_contacts',
  join: `left join lateral (
    select d.created_at, d.resolved_at from read.disputes d where d.organization = t.organization and d.id = t.dispute limit 1
  ) d on true`,
  walk: { organization: ['text', ''], dispute: ['text', ''] },
} as const;

/** The contacts of disputes that were resolved long ago. */
export const CONTACTS_OF_RESOLVED = expiringRows({
  ...CONTACTS,
  name: 'contacts of resolved disputes',
  where: `d.resolved_at <= (select ${CLOCK}) - ${CONTACT_KEPT_DAYS * MS_PER_DAY}`,
});

/**
 * The contacts without a dispute, which a process that ended between two statements has left. A contact is stored before
 * its dispute, so a dispute is missing only if the read model includes everything from an hour after the contact was
 * stored.
 */
export const CONTACTS_WITHOUT_DISPUTE = expiringRows({
  ...CONTACTS,
  name: 'contacts without a dispute',
  where: `d.created_at is null
    and t.stored_at < (select as_of from read.checkpoints where projection = 'records') - ${MS_PER_HOUR}`,
});
