import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { Pool } from 'pg';
import { asUnavailable } from '../postgres/transient-errors.js';

export interface OwnBrand {
  readonly slug: string;
  /** Absent where none was given. */
  readonly name?: string;
  /** Whether the metrics route answers for this brand. */
  readonly metricsAvailable: boolean;
}

export interface OwnBrands {
  /** In order of slug, at most `MAX_BRANDS`. */
  readonly brands: OwnBrand[];
  /** Registered brands, listed or not. */
  readonly total: number;
}

/** The registered brands of one organization, as far as they are projected. */
export class ListOwnBrands extends Query<OwnBrands> {
  constructor(readonly organization: string) {
    super();
  }
}

export const MAX_BRANDS = 10_000;

const STATEMENT = {
  name: 'organization-brands',
  text: `
    select brand, name, (count(*) over ())::int as total, exists (
      select from read.feature_flags where organization = $1 and flag = 'brands-metrics' and enabled
    ) as available
    from read.brands where organization = $1 and registered order by brand limit ${MAX_BRANDS}`,
};

interface Row {
  brand: string;
  name: string | null;
  total: number;
  available: boolean;
}

@QueryHandler(ListOwnBrands)
export class ListOwnBrandsHandler implements IQueryHandler<ListOwnBrands> {
  constructor(private readonly pool: Pool) {}

  /** @throws Unavailable where the database is away */
  async execute({ organization }: ListOwnBrands): Promise<OwnBrands> {
    try {
      const { rows } = await this.pool.query<Row>({ ...STATEMENT, values: [organization] });
      const brands = rows.map(({ brand, name, available }) => ({
        slug: brand,
        ...(name !== null && { name }),
        metricsAvailable: available,
      }));
      return { brands, total: rows[0]?.total ?? 0 };
    } catch (error) {
      throw asUnavailable(error);
    }
  }
}
