import type { Command } from 'commander';
import { ConfigError, readConfig } from '../runtime/config.js';
import { Invalid, Unavailable } from '../errors.js';
import type { EventLog } from '../event-log/event-log.js';
import { createEventStoreDbLog } from '../event-log/eventstoredb/log.js';
import { copyLog } from '../event-log/copy-log.js';
import { prints, type Result, Progress } from './output.js';
import { readSecret, withLog } from './session.js';

/**
 * Replaces the name of the setting in an error by the name of the option. The address is parsed like the setting
 * EVENTSTORE_URL.
 */
const asOption = (error: unknown): unknown => {
  if (!(error instanceof ConfigError || error instanceof Unavailable)) return error;
  const message = error.message.replace(/^EVENTSTORE_URL/, '--to');
  return error instanceof ConfigError
    ? new Invalid(message)
    : new Unavailable(message, error.retryAfterSeconds, { cause: error });
};

interface CopyOptions {
  readonly to?: string;
  readonly urlFile?: string;
}

const addressOf = async ({ to = '', urlFile }: CopyOptions): Promise<string> => {
  if ((to === '') === (urlFile === undefined))
    throw new Invalid('Give the address of the EventStoreDB with either --to URL or --url-file FILE');
  const address = urlFile === undefined ? to : await readSecret(urlFile, 'the address');
  try {
    const url = readConfig({ EVENTSTORE_URL: address.trim() || '-' }).eventStoreUrl!;
    if (urlFile !== undefined || !/:\/\/[^/?]*:[^/?]*@/.test(to)) return url;
  } catch (error) {
    throw new Invalid(`${(asOption(error) as Error).message}; a log can be copied only into an EventStoreDB`);
  }
  throw new Invalid(
    'A password on the command line can be read by every process on the machine: put the address into a file and use ' +
      '--url-file FILE (- for standard input)',
  );
};

const open = (address: string): Promise<EventLog> =>
  createEventStoreDbLog(address).catch((error: unknown) => {
    throw asOption(error);
  });

const copy = async (options: CopyOptions): Promise<Result> => {
  const address = await addressOf(options);
  return withLog(async ({ log }) => {
    const target = await open(address);
    const phases = { copying: new Progress('events'), verifying: new Progress('events') };
    let phase: keyof typeof phases = 'copying';
    try {
      const { events, copied } = await copyLog(log, target, (progress) => {
        if (progress.phase !== phase) phases[phase].end();
        phase = progress.phase;
        phases[phase].update(progress.events, progress.fraction);
      });
      return {
        lines: [`Both logs contain the same ${events} events; this call copied ${copied} of them`],
        json: { events, copied, logId: await target.id() },
      };
    } finally {
      phases[phase].end();
      await target.close();
    }
  });
};

export const addLogCommands = (program: Command): void => {
  const log = program.command('log').description('the event log: copy');
  prints(
    log
      .command('copy')
      .description('copy the whole log into an EventStoreDB, in order; repeat the call to continue an interrupted copy')
      .option('--to <url>', 'the EventStoreDB, such as esdb://127.0.0.1:2113?tls=false')
      .option('--url-file <file>', 'read the address from this file if it contains a password (- for standard input)'),
    copy,
  );
};
