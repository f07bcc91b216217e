import { statement } from '../../postgres/statement.js';

/** Whether brand metrics are enabled for an organization, and whether the organization has this brand. */
export const FIND_BRAND = statement(
  'find-brand',
  { organization: 'text', brand: 'text' },
  { enabled: 'boolean', registered: 'boolean' },
  `
    select
      exists (select from read.feature_flags
              where organization = $1 and flag = 'brands-metrics' and enabled) as enabled,
      exists (select from read.brands where organization = $1 and brand = $2 and registered) as registered`,
);
