import type { Pool } from 'pg';
import { createReadModels } from '../read-models/kysely.js';

/** Lists the registered brands of all organizations from the read models. */
export const listBrands = (pool: Pool) =>
  createReadModels(pool)
    .selectFrom('brands')
    .select(['organization', 'brand', 'name'])
    .where('registered', 'is', true)
    .orderBy('organization')
    .orderBy('brand')
    .execute();
