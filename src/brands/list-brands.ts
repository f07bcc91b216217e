import type { Pool } from 'pg';
import { createReadModels } from '../read-models/kysely.js';

export interface Brand {
  readonly organization: string;
  readonly brand: string;
  readonly name: string | null;
}

/** The registered brands of every organization, as far as they are projected. */
export const listBrands = (pool: Pool): Promise<Brand[]> =>
  createReadModels(pool)
    .selectFrom('brands')
    .select(['organization', 'brand', 'name'])
    .where('registered', 'is', true)
    .orderBy('organization')
    .orderBy('brand')
    .execute();
