import { generateKeyPairSync } from 'node:crypto';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { describeRejected, quote } from '../asset-check/lists/list-entry.js';
import { type ListStatus, readSourcesStatus } from '../asset-check/sources/sources.js';
import { Conflict } from '../errors.js';
import { readSigner } from '../lists/publish-lists.js';
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

/** @throws Conflict if the file exists: another key would make clients refuse the lists */
const createKey = async (file: string): Promise<Result> => {
  const pem = generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }) as string;
  try {
    await writeFile(file, pem, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new Conflict(`${file} exists; choose another file, or delete this one if no client has its public key`);
  }
  const { publicKey } = readSigner(pem);
  say(`Set LISTS_SIGNING_KEY_FILE to ${file}, and give clients this public key:`);
  return { lines: [publicKey], json: { file, publicKey } };
};

export const addListCommands = (program: Command): void => {
  const lists = program.command('lists').description('local lists: key');
  prints(
    lists
      .command('key')
      .argument('<file>', 'where to write the private key, readable only by you')
      .description('make a key that signs local lists, and print its public key'),
    createKey,
  );
};
