import type { Pool } from 'pg';
import { formatInstant, MS_PER_DAY } from '../events/instant.js';
import type { RowOf } from '../postgres/statement.js';
import { createReadModels } from '../read-models/kysely.js';
import type { Config } from '../runtime/config.js';
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

/**
 * Reads what is left of an organization's quotas; undefined if there are no limits. The usage of the last second may
 * not be counted yet.
 * @param today days since 1970
 */
export const readQuotaLeft = async (
  pool: Pool,
  { ingestEventsPerDay, ingestBytesPerDay }: Pick<Config, 'ingestEventsPerDay' | 'ingestBytesPerDay'>,
  organization: string,
  today: number,
) => {
  if (ingestEventsPerDay === 0 && ingestBytesPerDay === 0) return undefined;
  const [used] = await readIngestUsage(pool, today, organization);
  const leftOf = (limit: number, amount = 0) =>
    limit === 0 ? undefined : { limit, left: Math.max(0, limit - amount) };
  return {
    events: leftOf(ingestEventsPerDay, used?.events),
    bytes: leftOf(ingestBytesPerDay, used?.bytes),
    resetsAt: formatInstant((today + 1) * MS_PER_DAY),
  };
};
