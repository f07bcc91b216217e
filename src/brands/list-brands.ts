import type { Pool } from 'pg';
import { createReadModels } from '../read-models/kysely.js';

export interface Brand {
  readonly organization: string;
  readonly brand: string;
  readonly name: string | null;
}

/** All organizations' registered brands, as projected so far. */
export const listBrands = (pool: Pool): Promise<Brand[]> =>
  createReadModels(pool)
    .selectFrom('brands')
    .select(['organization', 'brand', 'name'])
    .where('registered', 'is', true)
    .orderBy('organization')
    .orderBy('brand')
    .execute();
