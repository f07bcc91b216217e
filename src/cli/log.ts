import type { Command } from 'commander';
import { readConfig } from '../config.js';
import { createEventStoreDbLog } from '../event-log/eventstoredb.js';
import { copyLog } from './log-copy.js';
import { prints, type Result } from './output.js';
import { Progress } from './progress.js';
import { withLog } from './session.js';

const copy = ({ to }: { to: string }): Promise<Result> =>
  withLog(async ({ log }) => {
    // The address is read as the setting of that name is.
    const target = await createEventStoreDbLog(readConfig({ EVENTSTORE_URL: to }).eventStoreUrl!);
    const phases = { copying: new Progress('events'), verifying: new Progress('events') };
    let phase: keyof typeof phases = 'copying';
    try {
      const { events, copied } = await copyLog(log, target, (progress) => {
        if (progress.phase !== phase) phases[phase].end();
        phase = progress.phase;
        phases[phase].update(progress.events, progress.part);
      });
      return {
        lines: [`${events} events in both logs, compared one by one; ${copied} of them written now`],
        json: { events, copied, logId: await target.id() },
      };
    } finally {
      phases[phase].end();
      await target.close();
    }
  });

export const addLog = (program: Command): void => {
  const log = program.command('log').description('the log as a whole');
  prints(
    log
      .command('copy')
      .description('the whole log into an EventStoreDB, in order; the same call again goes on where one stopped')
      .requiredOption('--to <url>', 'the EventStoreDB, such as esdb://127.0.0.1:2113?tls=false'),
    copy,
  );
};
