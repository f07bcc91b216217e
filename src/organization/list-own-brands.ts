import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { Pool } from 'pg';
import type { AtPosition } from '../event-log/command-queue.js';
import { RequestConcurrency } from '../read-models/request-concurrency.js';
import type { OwnBrandsResponse } from './organization.dto.js';
import { READ_BRANDS } from './statements.js';

/** Lists the registered brands of an organization from the read models. */
export class ListOwnBrands extends Query<AtPosition<OwnBrandsResponse>> {
  constructor(readonly organization: string) {
    super();
  }
}

export const MAX_BRANDS = 10_000;

@QueryHandler(ListOwnBrands)
export class ListOwnBrandsHandler implements IQueryHandler<ListOwnBrands> {
  constructor(
    private readonly pool: Pool,
    private readonly concurrency: RequestConcurrency,
  ) {}

  /**
   * @throws TooManyRequests if too many requests of the organization are waiting
   * @throws Unavailable if the database is unavailable
   */
  execute({ organization }: ListOwnBrands): Promise<AtPosition<OwnBrandsResponse>> {
    return this.concurrency.run(organization, 'brands', async () => {
      const [read] = await READ_BRANDS.run(this.pool, { organization, limit: MAX_BRANDS });
      const { rows, position } = read!;
      const brands = rows.map(({ brand, name, available }) => ({
        slug: brand,
        ...(name !== null && { name }),
        metricsAvailable: available,
      }));
      return { result: { brands, total: rows[0]?.total ?? 0 }, position: BigInt(position) };
    });
  }
}
