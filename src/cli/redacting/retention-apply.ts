import type { Command } from 'commander';
import { Invalid } from '../../errors.js';
import { formatInstant, MS_PER_DAY } from '../../events/instant.js';
import { withProjections } from '../projections.js';
import { operatorName } from '../runtime/operator-name.js';
import { prints, type Result, table } from '../runtime/output.js';
import { withProgress } from '../runtime/progress.js';
import { applyRetention } from './apply-retention.js';
import { withNodesToScavenge } from './nodes-to-scavenge.js';

interface ApplyOptions {
  readonly olderThan: string;
  readonly dryRun?: boolean;
}

/** Reads an age such as `730d`, in ms. @throws Invalid */
const readAge = (text: string): number => {
  const [, days] = /^([1-9]\d{0,4})d$/.exec(text) ?? [];
  if (days === undefined)
    throw new Invalid(
      `--older-than must be a number of days from 1 to 99999 followed by d, such as 730d, not ${JSON.stringify(text)}`,
    );
  return Number(days) * MS_PER_DAY;
};

const apply = async ({ olderThan, dryRun = false }: ApplyOptions): Promise<Result> => {
  const ageMs = readAge(olderThan);
  return withProjections((session) =>
    withProgress({ positions: 'positions' }, async (bars) => {
      const { cutoff, events, nodes } = await applyRetention(session, ageMs, operatorName(), {
        dryRun,
        onProgress: (positions, fraction) => bars.positions.update(positions, fraction),
      });
      const before = formatInstant(cutoff);
      const counts = Object.entries(events);
      const lines = counts.length === 0 ? [`Nothing to redact before ${before}`] : table(['events', 'number'], counts);
      return withNodesToScavenge({ lines, json: { before, events } }, nodes);
    }),
  );
};

export const addRetentionCommands = (program: Command): void => {
  const retention = program.command('retention').description('retention of contents: apply');
  prints(
    retention
      .command('apply')
      .description('replace the contents of old threats, takedowns and past statuses by [redacted]')
      .requiredOption('--older-than <age>', 'the age in days, such as 730d')
      .option('--dry-run', 'count the events, and change nothing'),
    apply,
  );
};
