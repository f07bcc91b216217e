import type { Connection } from '../../postgres/statement.js';
import { Forbidden, NotFound } from '../../errors.js';
import { SLUG } from '../../events/declaring/fields.js';
import { FIND_BRAND } from './statements.js';

/**
 * Checks that an organization may ask about one of its brands.
 * @throws Forbidden if it may not see brands, NotFound if it has no such brand
 */
export const checkBrand = async (connection: Connection, organization: string, brand: string): Promise<void> => {
  // Only a slug can name a brand; anything else is not sent, since PostgreSQL might not accept it as text.
  const asked = { organization, brand: SLUG.test(brand) ? brand : '' };
  const { enabled, registered } = (await FIND_BRAND.run(connection, asked))[0]!;
  if (!enabled) throw new Forbidden('Brand metrics are not enabled for this organization');
  if (!registered) throw new NotFound('Brand not found');
};
