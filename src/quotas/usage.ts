import type { Pool } from 'pg';
import { formatInstant, MS_PER_DAY } from '../events/instant.js';
import { columnsOf } from '../postgres/columns.js';
import { createReadModels } from '../read-models/kysely.js';
import { ADD_INGEST_USAGE, DELETE_OLD_INGEST_USAGE } from '../read-models/statements.js';
import type { Config } from '../runtime/config.js';

/**
 * What organizations have stored on a UTC day with their own ingest keys and by changing groups. It cannot be counted
 * from the log, which knows neither keys nor the bytes of a request.
 */
export interface IngestUsage {
  readonly organization: string;
  readonly events: number;
  readonly bytes: number;
}

/**
 * Adds the amounts since the last call, zero included.
 * @param day days since 1970
 * @returns the day's sums of these organizations over all instances
 */
export const addIngestUsage = (pool: Pool, day: number, used: readonly IngestUsage[]): Promise<IngestUsage[]> =>
  ADD_INGEST_USAGE.run(pool, { day, ...columnsOf(used, 'organization', 'events', 'bytes') });

/** Drops what is older than yesterday, by the database's clock. */
export const forgetIngestUsage = async (pool: Pool): Promise<void> => {
  await DELETE_OLD_INGEST_USAGE.run(pool, {});
};

/** The day's sums, of one organization or of all that sent something, the most bytes first. */
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
 * What is left of an organization's quotas, as of the last second; undefined if nothing is limited.
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
