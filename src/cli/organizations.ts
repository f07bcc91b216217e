import type { Command } from 'commander';
import { readConfig } from '../runtime/config.js';
import { dayOf, formatDay } from '../events/instant.js';
import { databaseTime } from '../postgres/clock.js';
import { readIngestUsage } from '../quotas/usage.js';
import { say } from '../runtime/terminal.js';
import { addEraseCommand } from './erasing/organizations-erase.js';
import { prints, type Result, table } from './runtime/output.js';
import { requireSlug } from './runtime/slug.js';
import { withDatabase } from './runtime/session.js';
import { addTransferCommands } from './transfer.js';

interface UsageOptions {
  readonly organization?: string;
}

const usage = ({ organization }: UsageOptions): Promise<Result> => {
  if (organization !== undefined) requireSlug(organization, '--organization');
  const { ingestEventsPerDay, ingestBytesPerDay } = readConfig();
  return withDatabase(async (pool) => {
    const day = dayOf(await databaseTime(pool));
    const usages = await readIngestUsage(pool, day, organization);
    const quota = { events: ingestEventsPerDay || null, bytes: ingestBytesPerDay || null };
    say('All API processes share these quotas; each API process applies every other limit on its own');
    return {
      lines: table(
        ['organization', 'day', 'events', 'of', 'bytes', 'of'],
        usages.map((row) => [row.organization, formatDay(day), row.events, quota.events, row.bytes, quota.bytes]),
      ),
      json: { day: formatDay(day), quota, organizations: usages },
    };
  });
};

export const addOrganizationCommands = (program: Command): void => {
  const organizations = program.command('organizations').description('organizations: usage, erase, export, import');
  addEraseCommand(organizations);
  prints(
    organizations
      .command('usage')
      .description('show what each organization has sent today (UTC), up to a second ago, and its daily quota')
      .option('--organization <slug>', 'only this organization'),
    usage,
  );
  addTransferCommands(organizations);
};
