import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { Pool } from 'pg';
import { createReadModels } from '../read-models/kysely.js';

export interface Brand {
  readonly organization: string;
  readonly brand: string;
  readonly name: string | null;
}

/** The registered brands of every organization, as far as they are projected. */
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
