import { createHash, randomBytes } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, linkSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs';
import { type Config, ConfigError } from '../runtime/config.js';
import { inDataDir } from '../runtime/data-dir.js';

const KEY_BYTES = 32;
const KEY = /^[A-Za-z0-9+/]{43}=$/;
const MAX_KEYS = 64;

/** A key from which the secrets of webhooks are derived. */
export interface MasterKey {
  /** A hash of the key, so that an id always names the same key. */
  readonly id: string;
  readonly key: Buffer;
}

const masterKey = (key: Buffer): MasterKey => ({
  id: createHash('sha256').update('id of a webhook master key\n').update(key).digest('hex').slice(0, 16),
  key,
});

/** Parses the keys of a file: one key per line in base64, oldest first. New secrets use the last key. */
const parseKeys = (path: string, text: string): MasterKey[] => {
  const lines = text.split('\n').map((line) => line.trim());
  const keys = lines.filter((line) => line !== '' && !line.startsWith('#'));
  // Error messages must not quote a line, because even an invalid key may be secret.
  const wrong = lines.findIndex((line) => line !== '' && !line.startsWith('#') && !KEY.test(line));
  if (wrong >= 0)
    throw new ConfigError(`${path}, line ${wrong + 1}: not a key; a line is the output of "openssl rand -base64 32"`);
  if (keys.length === 0) throw new ConfigError(`${path} has no key; add one: openssl rand -base64 32 >> ${path}`);
  if (keys.length > MAX_KEYS) throw new ConfigError(`${path} has ${keys.length} keys; at most ${MAX_KEYS} are allowed`);
  return keys.map((line) => masterKey(Buffer.from(line, 'base64')));
};

/** The path of the key file; undefined if no file is set and the database is not the embedded PostgreSQL. */
export const masterKeyFile = ({ webhookMasterKeyFile, databaseUrl, dataDir }: Config): string | undefined =>
  webhookMasterKeyFile ?? (databaseUrl === undefined ? inDataDir(dataDir, 'webhook-master-key') : undefined);

/**
 * Creates the file with a first key, readable only by its owner, unless the file exists. The file is complete as soon
 * as it exists. If two processes start at the same time, one process creates the file, and both use that file.
 */
const createMasterKeyFile = (path: string): void => {
  const partialFile = `${path}.${randomBytes(6).toString('hex')}`;
  const file = openSync(partialFile, 'wx', 0o600);
  try {
    writeSync(file, `${randomBytes(KEY_BYTES).toString('base64')}\n`);
    fsyncSync(file);
    linkSync(partialFile, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    closeSync(file);
    unlinkSync(partialFile);
  }
};

/** The keys of a file. The file is read again if an unknown key is requested. */
export class MasterKeys {
  private known: ReadonlyMap<string, MasterKey> = new Map();

  constructor(private readonly path: string) {}

  /**
   * Reads the file and returns the key for new secrets.
   * @throws ConfigError if the file cannot be used
   */
  newest(): MasterKey {
    return this.read().at(-1)!;
  }

  /**
   * @returns undefined if the file has no such key
   * @throws ConfigError if the file cannot be used
   */
  find(id: string): MasterKey | undefined {
    if (!this.known.has(id)) this.read();
    return this.known.get(id);
  }

  private read(): MasterKey[] {
    let text: string;
    try {
      text = readFileSync(this.path, 'utf8');
    } catch (error) {
      throw new ConfigError(`WEBHOOK_MASTER_KEY_FILE cannot be read: ${(error as Error).message}`);
    }
    const keys = parseKeys(this.path, text);
    this.known = new Map(keys.map((key) => [key.id, key]));
    return keys;
  }
}

/**
 * Opens the master keys of this installation. If the database is embedded, creates the key file at the first start.
 * @returns undefined if the settings name no file
 * @throws ConfigError if the file cannot be used
 */
export const openMasterKeys = (config: Config): MasterKeys | undefined => {
  const path = masterKeyFile(config);
  if (path === undefined) return undefined;
  if (config.webhookMasterKeyFile === undefined && !existsSync(path)) createMasterKeyFile(path);
  const keys = new MasterKeys(path);
  keys.newest();
  return keys;
};
