import type { Pool } from 'pg';
import type { RowOf } from '../postgres/statement.js';
import { createReadModels } from '../read-models/kysely.js';
import type { ADD_INGEST_USAGE } from './statements.js';

type IngestUsage = RowOf<typeof ADD_INGEST_USAGE>;

/** Reads the totals of a day for one organization, or for all organizations that stored something, most bytes first. */
export const readIngestUsage = (pool: Pool, day: number, organization?: string): Promise<IngestUsage[]> => {
  const ofDay = createReadModels(pool)
    .selectFrom('service.ingest_usage')
    .select(['organization', 'events', 'bytes'])
    .where('day', '=', day);
  return (organization === undefined ? ofDay : ofDay.where('organization', '=', organization))
    .orderBy('bytes', 'desc')
    .orderBy('organization')
    .execute();
};
