import { nullable, statement } from '../postgres/statement.js';

/** The flags that are enabled for an organization. */
export const READ_FLAGS = statement(
  'organization-flags',
  { organization: 'text', limit: 'bigint' },
  { flag: 'text' },
  'select flag from read.feature_flags where organization = $1 and enabled order by flag limit $2',
);

/** The registered brands of an organization, whether metrics are available for them, and the total number of brands. */
export const READ_BRANDS = statement(
  'organization-brands',
  { organization: 'text', limit: 'bigint' },
  { brand: 'text', name: nullable('text'), total: 'bigint', available: 'boolean' },
  `
    select brand, name, count(*) over () as total,
      exists (select from read.feature_flags
              where organization = $1 and flag = 'brands-metrics' and enabled) as available
    from read.brands
    where organization = $1 and registered
    order by brand
    limit $2`,
);
