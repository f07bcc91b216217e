import { generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { Conflict } from '../errors.js';
import { readSigner } from '../lists/publish-lists.js';
import { say } from '../runtime/terminal.js';
import { prints, type Result } from './output.js';

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
