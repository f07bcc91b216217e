import { type Command, Option } from 'commander';
import type { Pool } from 'pg';
import { parseEvent } from '../events/event.js';
import { DISPUTE_OUTCOMES, disputeItem } from '../events/types/verdicts.js';
import { createReadModels } from '../read-models/tables.js';
import { prints, type Result, table } from './output.js';
import { withDatabase, requireSlug } from './session.js';

interface ListOptions {
  readonly organization?: string;
  readonly status?: string;
}

const HEADINGS = 'organization id status createdAt asset source contact'.split(' ');

const dataOf = (text: string | null): unknown => (JSON.parse(text ?? '{}') as { readonly data?: unknown }).data;

/** Reads disputes, oldest first. The contact is null if none was given, or if it has been erased. */
const readDisputes = async (pool: Pool, { organization, status }: ListOptions) => {
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

const list = (options: ListOptions): Promise<Result> => {
  if (options.organization !== undefined) requireSlug(options.organization, '--organization');
  return withDatabase(async (pool) => {
    const disputes = await readDisputes(pool, options);
    const rows = disputes.map(({ organization: owner, contact, item }) => {
      const {
        id,
        status: state,
        createdAt,
        asset,
        verdict,
      } = item as {
        readonly id: string;
        readonly status: string;
        readonly createdAt: string;
        readonly asset: { readonly content: string };
        readonly verdict: { readonly source: string };
      };
      return [owner, id, state, createdAt, asset.content, verdict.source, contact];
    });
    const json = disputes.map(({ organization: owner, contact, item }) => ({ organization: owner, ...item, contact }));
    return { lines: table(HEADINGS, rows), json };
  });
};

export const addDisputeCommands = (program: Command): void => {
  const disputes = program.command('disputes').description('disputes of organizations about verdicts: list');
  prints(
    disputes
      .command('list')
      .description('list the disputes, oldest first, with the source of the verdict and the contact')
      .option('--organization <slug>', 'only disputes of this organization')
      .addOption(
        new Option('--status <status>', 'only disputes with this status').choices(['OPEN', ...DISPUTE_OUTCOMES]),
      ),
    list,
  );
};
