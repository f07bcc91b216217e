import type { Connection } from '../../postgres/statement.js';
import { Forbidden, NotFound } from '../../errors.js';
import { SLUG } from '../../events/declaring/fields.js';
import { FIND_BRAND } from './statements.js';

/**
 * Checks that an organization may query a brand.
 * @throws Forbidden if brand metrics are not enabled for the organization
 * @throws NotFound if the organization has no such brand
 */
export const checkBrand = async (connection: Connection, organization: string, brand: string): Promise<void> => {
  // Only slugs can name a brand. Other texts are not sent to PostgreSQL, which may not accept them.
  const parameters = { organization, brand: SLUG.test(brand) ? brand : '' };
  const { enabled, registered } = (await FIND_BRAND.run(connection, parameters))[0]!;
  if (!enabled) throw new Forbidden('Brand metrics are not enabled for this organization');
  if (!registered) throw new NotFound('Brand not found');
};
