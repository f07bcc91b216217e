import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { Pool } from 'pg';

export interface Brand {
  readonly organization: string;
  readonly brand: string;
  readonly name: string | null;
}

/** The registered brands of every organization, as far as they are projected. */
export class ListBrands extends Query<Brand[]> {}

const STATEMENT = {
  name: 'brands-list',
  text: 'select organization, brand, name from read.brands where registered order by organization, brand',
};

@QueryHandler(ListBrands)
export class ListBrandsHandler implements IQueryHandler<ListBrands> {
  constructor(private readonly pool: Pool) {}

  async execute(): Promise<Brand[]> {
    return (await this.pool.query<Brand>(STATEMENT)).rows;
  }
}
