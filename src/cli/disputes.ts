import { type Command, Option } from 'commander';
import { listAllDisputes } from '../disputes/list-all-disputes.js';
import { DISPUTE_OUTCOMES } from '../events/types/disputes.js';
import { prints, type Result, table } from './runtime/output.js';
import { withDatabase } from './runtime/session.js';
import { requireSlug } from './runtime/slug.js';

interface ListOptions {
  readonly organization?: string;
  readonly status?: string;
}

const HEADINGS = 'organization id status createdAt asset source contact'.split(' ');

const list = ({ organization, status }: ListOptions): Promise<Result> => {
  if (organization !== undefined) requireSlug(organization, '--organization');
  return withDatabase(async (pool) => {
    const disputes = await listAllDisputes(pool, organization, status);
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
