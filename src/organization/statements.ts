import { json, statement } from '../postgres/statement.js';
import { positionOf, rowsAtPosition } from '../read-models/checkpoints/position-sql.js';

interface OwnBrand {
  readonly brand: string;
  readonly name: string | null;
  /** The number of all brands of the organization. */
  readonly total: number;
  readonly available: boolean;
}

/** The flags that are enabled for an organization. */
export const READ_FLAGS = statement(
  'organization-flags',
  { organization: 'text', limit: 'bigint' },
  { position: 'bigint', flags: 'text[]' },
  `
    select ${positionOf('brands-and-flags')} as position,
      array(select flag from read.feature_flags where organization = $1 and enabled order by flag limit $2) as flags`,
);

/** The registered brands of an organization, whether metrics are available for them, and the total number of brands. */
export const READ_BRANDS = statement(
  'organization-brands',
  { organization: 'text', limit: 'bigint' },
  { position: 'bigint', rows: json<readonly OwnBrand[]>() },
  rowsAtPosition(
    `
    select brand, name, count(*) over () as total,
      exists (select from read.feature_flags
              where organization = $1 and flag = 'brands-metrics' and enabled) as available
    from read.brands
    where organization = $1 and registered
    order by brand
    limit $2`,
    'brands-and-flags',
  ),
);
