import type { Pool } from 'pg';
import { parseEvent } from '../events/event.js';
import { disputeItem } from '../events/types/disputes.js';
import { createReadModels } from '../read-models/kysely.js';

/** A dispute as the CLI shows it to the operator. */
export interface AnyDispute {
  readonly organization: string;
  /** Null: none was given, or it is erased. */
  readonly contact: string | null;
  readonly item: ReturnType<typeof disputeItem>;
}

const dataOf = (text: string | null): unknown => (JSON.parse(text ?? '{}') as { readonly data?: unknown }).data;

/** Lists the disputes of one organization, or of all organizations, oldest first, as of the read models. */
export const listAllDisputes = async (pool: Pool, organization?: string, status?: string): Promise<AnyDispute[]> => {
  let query = createReadModels(pool)
    .selectFrom('disputes as d')
    .leftJoin('service.dispute_contacts as c', (join) =>
      join.onRef('c.organization', '=', 'd.organization').onRef('c.dispute', '=', 'd.id'),
    )
    .select(['d.organization', 'd.filed', 'd.resolution', 'c.contact'])
    .where('d.created_at', 'is not', null);
  if (organization !== undefined) query = query.where('d.organization', '=', organization);
  if (status === 'OPEN') query = query.where('d.resolved_at', 'is', null);
  else if (status !== undefined) query = query.where('d.outcome', '=', status);
  const rows = await query.orderBy('d.created_at').orderBy('d.organization').orderBy('d.id').execute();
  return rows.map((row) => {
    const filed = parseEvent('DisputeFiled', dataOf(row.filed)).event!;
    const resolution = parseEvent('DisputeResolved', dataOf(row.resolution)).event;
    return { organization: row.organization, contact: row.contact, item: disputeItem(filed.data, resolution?.data) };
  });
};
