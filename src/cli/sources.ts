import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { describeRejected, quote } from '../asset-check/lists/list-entry.js';
import { type ListStatus, readSourcesStatus } from '../asset-check/sources/sources.js';
import { readConfig, inDataDir } from '../runtime/config.js';
import { say } from '../runtime/terminal.js';
import { formatInstant } from '../events/instant.js';
import { prints, type Result, table } from './output.js';
import { requireDatabase } from './session.js';

const problemOf = ({ mode, ageSeconds, lastError, lastErrorAt }: ListStatus): string => {
  if (mode === 'DISABLED') return 'disabled';
  if (lastError !== undefined) return `${lastError} (${formatInstant(lastErrorAt!)})`;
  return ageSeconds === undefined ? 'never loaded by this installation' : '';
};

const rejectionLines = ({ id, rejected = [] }: ListStatus): string[] =>
  rejected.map((entries) => `${id}: rejected ${describeRejected(entries)}`);

const overruledLines = ({ id, overruled }: ListStatus): string[] =>
  (overruled?.examples ?? []).map(({ entry, guard }) => `${id}: ${quote(entry)} is overruled by the guard ${guard}`);

const status = async (): Promise<Result> => {
  const config = readConfig();
  // The copies of the lists are in the `DATA_DIR` of the API. In another folder, every list would seem never loaded.
  if (!existsSync(inDataDir(config.dataDir, 'lists')) && config.databaseUrl === undefined) requireDatabase(config);
  say(`Reading the copies of the lists in ${inDataDir(config.dataDir, 'lists')}`);
  const lists = await readSourcesStatus(config);
  return {
    lines: [
      ...table(
        ['list', 'entries', 'rejected', 'overruled', 'age in s', 'problem'],
        lists.map((list) => [
          list.id,
          list.entries,
          list.refused,
          list.overruled?.count,
          list.ageSeconds,
          problemOf(list),
        ]),
      ),
      ...lists.flatMap(rejectionLines),
      ...lists.flatMap(overruledLines),
    ],
    json: lists,
  };
};

export const addSourceCommands = (program: Command): void => {
  const sources = program.command('sources').description('the lists and guards of the asset check: status');
  prints(sources.command('status').description('show entries, age and last error of each list'), status);
};
