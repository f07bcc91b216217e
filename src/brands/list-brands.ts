import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { Pool } from 'pg';
import { createReadModels } from '../read-models/kysely.js';

export interface Brand {
  readonly organization: string;
  readonly brand: string;
  readonly name: string | null;
}

/** All organizations' registered brands, as projected so far. */
export class ListBrands extends Query<Brand[]> {}

@QueryHandler(ListBrands)
export class ListBrandsHandler implements IQueryHandler<ListBrands> {
  constructor(private readonly pool: Pool) {}

  execute(): Promise<Brand[]> {
    return createReadModels(this.pool)
      .selectFrom('brands')
      .select(['organization', 'brand', 'name'])
      .where('registered', 'is', true)
      .orderBy('organization')
      .orderBy('brand')
      .execute();
  }
}
