import type { Pool } from 'pg';
import { MS_PER_DAY } from '../events/instant.js';
import { statement } from '../postgres/statement.js';
import { CLOCK } from '../postgres/statements.js';

/** How long the contact of a dispute is kept after the resolution. */
export const CONTACT_KEPT_DAYS = 90;
const MS_PER_HOUR = 3_600_000;

const STORE_DISPUTE_CONTACT = statement(
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
const ERASE_DISPUTE_CONTACTS = statement(
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

/** @throws the database's error */
export const storeDisputeContact = async (
  pool: Pool,
  organization: string,
  dispute: string,
  contact: string,
): Promise<void> => {
  await STORE_DISPUTE_CONTACT.run(pool, { organization, dispute, contact });
};

/** @throws the database's error */
export const eraseDisputeContacts = async (pool: Pool): Promise<void> => {
  await ERASE_DISPUTE_CONTACTS.run(pool, { keptDays: CONTACT_KEPT_DAYS });
};
