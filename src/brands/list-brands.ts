import type { Pool } from 'pg';
import { createReadModels } from '../read-models/kysely.js';

/** All organizations' registered brands, as projected so far. */
export const listBrands = (pool: Pool) =>
  createReadModels(pool)
    .selectFrom('brands')
    .select(['organization', 'brand', 'name'])
    .where('registered', 'is', true)
    .orderBy('organization')
    .orderBy('brand')
    .execute();
