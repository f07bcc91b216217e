import type { Pool } from 'pg';
import { ERASE_DISPUTE_CONTACTS, STORE_DISPUTE_CONTACT } from './statements.js';

/** How long the contact of a dispute is kept after the resolution. */
export const CONTACT_KEPT_DAYS = 90;

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
