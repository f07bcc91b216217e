import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { sql } from 'kysely';
import { Pool } from 'pg';
import { compiled } from '../read-models/compiled-statement.js';
import { RequestTurns } from '../read-models/request-turns.js';
import type { OwnBrandsAnswer } from './organization.dto.js';

/** An organization's registered brands, as projected so far. */
export class ListOwnBrands extends Query<OwnBrandsAnswer> {
  constructor(readonly organization: string) {
    super();
  }
}

export const MAX_BRANDS = 10_000;

const findBrands = compiled('organization-brands', (db, { organization }: { organization: string }) =>
  db
    .selectFrom('brands')
    .select((eb) => [
      'brand',
      'name',
      eb.fn.countAll<number>().over().as('total'),
      eb
        .exists(
          eb
            .selectFrom('feature_flags')
            .where('organization', '=', organization)
            .where('flag', '=', sql.lit('brands-metrics'))
            .where('enabled', 'is', true),
        )
        .$castTo<boolean>()
        .as('available'),
    ])
    .where('organization', '=', organization)
    .where('registered', 'is', true)
    .orderBy('brand')
    .limit(sql.lit(MAX_BRANDS)),
);

@QueryHandler(ListOwnBrands)
export class ListOwnBrandsHandler implements IQueryHandler<ListOwnBrands> {
  constructor(
    private readonly pool: Pool,
    private readonly turns: RequestTurns,
  ) {}

  /**
   * @throws TooManyRequests if too many requests of the organization are waiting
   * @throws Unavailable if the database is unavailable
   */
  execute({ organization }: ListOwnBrands): Promise<OwnBrandsAnswer> {
    return this.turns.runInTurn(organization, 'brands', async () => {
      const rows = await findBrands(this.pool, { organization });
      const brands = rows.map(({ brand, name, available }) => ({
        slug: brand,
        ...(name !== null && { name }),
        metricsAvailable: available,
      }));
      return { brands, total: rows[0]?.total ?? 0 };
    });
  }
}
