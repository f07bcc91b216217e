import type { Pool } from 'pg';
import { formatInstant, MS_PER_DAY } from '../events/instant.js';
import { columnsOf } from '../postgres/columns.js';
import { createReadModels } from '../read-models/kysely.js';
import { ADD_INGEST_USAGE, DELETE_OLD_INGEST_USAGE } from '../read-models/statements.js';
import type { Config } from '../runtime/config.js';

/**
 * What an organization has used of its daily quota on a UTC day. The usage is stored, because the log does not contain
 * the number of bytes of a request.
 */
export interface IngestUsage {
  readonly organization: string;
  readonly events: number;
  readonly bytes: number;
}

/**
 * Adds amounts to the totals of a day.
 * @param day days since 1970
 * @param used the amounts since the last call; may be zero
 * @returns the new totals of these organizations, over all instances
 */
export const addIngestUsage = (pool: Pool, day: number, used: readonly IngestUsage[]): Promise<IngestUsage[]> =>
  ADD_INGEST_USAGE.run(pool, { day, ...columnsOf(used, 'organization', 'events', 'bytes') });

/** Deletes the rows of all days before yesterday, by the clock of the database. */
export const deleteOldIngestUsage = async (pool: Pool): Promise<void> => {
  await DELETE_OLD_INGEST_USAGE.run(pool, {});
};

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
