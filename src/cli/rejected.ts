import type { Command } from 'commander';
import { formatDay, formatInstant } from '../events/instant.js';
import { clearRejectedEvents, listRejectedEvents } from '../ingestion/rejections/rejected-events.js';
import { prints, type Result, table } from './runtime/output.js';
import { withDatabase } from './runtime/session.js';

const list = (): Promise<Result> =>
  withDatabase(async (pool) => {
    const rejected = (await listRejectedEvents(pool)).map(({ day, lastAt, ...rest }) => ({
      ...rest,
      day: formatDay(day),
      lastAt: formatInstant(lastAt),
    }));
    return {
      lines: table(
        ['day', 'key', 'reason', 'type', 'count', 'lastAt', 'id', 'sent type', 'issue'],
        rejected.map(({ day, keyId, reason, type, count, lastAt, sample: { id, type: sentType, issues } }) => {
          return [day, keyId, reason, type, count, lastAt, id, sentType || '-', issues[0]];
        }),
      ),
      json: rejected,
    };
  });

const clear = (): Promise<Result> =>
  withDatabase(async (pool) => {
    const cleared = await clearRejectedEvents(pool);
    return {
      lines: [`${cleared} ${cleared === 1 ? 'record' : 'records'} of rejected events deleted`],
      json: { cleared },
    };
  });

export const addRejectedCommands = (program: Command): void => {
  const rejected = program.command('rejected').description('events that the ingestion endpoint rejected: list, clear');
  prints(rejected.command('list').description('list a count and a sample per day, key, reason and type'), list);
  prints(rejected.command('clear').description('delete the records of rejected events'), clear);
};
