import { createHash, randomBytes, hkdfSync, createHmac } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, linkSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs';
import { type Config, ConfigError, inDataDir } from '../runtime/config.js';

const KEY_BYTES = 32;
const KEY = /^[A-Za-z0-9+/]{43}=$/;
const MAX_KEYS = 64;

/** A key from which the secrets of webhooks are derived. */
interface MasterKey {
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

const SECRET_BYTES = 32;

/** Identifies a secret by its endpoint and its generation. The first secret of an endpoint has generation 1. */
interface SecretName {
  readonly webhookId: string;
  readonly generation: number;
}

/**
 * Derives the signing key with HKDF-SHA-256. The key is therefore in no database, backup or log, and cannot be derived
 * without the master key.
 */
export const signingKey = ({ key }: MasterKey, { webhookId, generation }: SecretName): Buffer =>
  Buffer.from(hkdfSync('sha256', key, '', `webhook secret\n${webhookId}\n${generation}`, SECRET_BYTES));

/** The key as shown to the organization, in the format of Standard Webhooks. */
export const secretText = (key: Buffer): string => `whsec_${key.toString('base64')}`;

/** The current and the previous secret of an endpoint, and the ids of their master keys. */
interface SecretNames extends SecretName {
  readonly masterKey: string;
  readonly previousGeneration?: number | null | undefined;
  readonly previousMasterKey?: string | null | undefined;
  /** ms */
  readonly previousUntil?: number | null | undefined;
}

/**
 * Derives the keys that sign at an instant, newest first: two while a secret is being rotated.
 * @param now the instant, in ms
 * @throws Error if the master key of the newest secret is missing
 * @throws ConfigError if the file of the master keys cannot be used
 */
export const signingKeys = (keys: MasterKeys, names: SecretNames, now: number): Buffer[] => {
  const { webhookId, generation, masterKey, previousGeneration, previousMasterKey, previousUntil } = names;
  const newest = keys.find(masterKey);
  if (newest === undefined) throw new Error(`The master key ${masterKey} of the secret of ${webhookId} is missing`);
  const signing = [signingKey(newest, { webhookId, generation })];
  if (previousGeneration != null && previousMasterKey != null && now < (previousUntil ?? 0)) {
    const previous = keys.find(previousMasterKey);
    // If the previous master key is missing, receivers that still use the previous secret reject the delivery, and the
    // delivery is retried.
    if (previous !== undefined) signing.push(signingKey(previous, { webhookId, generation: previousGeneration }));
  }
  return signing;
};

/**
 * The `webhook-id` of a delivery: a hash of the endpoint and the body, so that a retry has the same id, whichever process
 * sends it. Contains only letters, digits, `_` and `-`.
 */
export const deliveryIdOf = (endpoint: string, body: Buffer): string =>
  `msg_${createHash('sha256').update(endpoint).update('\n').update(body).digest().subarray(0, 18).toString('base64url')}`;

/**
 * Returns the headers of Standard Webhooks 1.0.
 * @param secrets the secrets as bytes; two while a secret is being rotated
 * @param now the current time, in ms
 */
export const signedHeaders = (
  secrets: readonly Buffer[],
  deliveryId: string,
  now: number,
  body: Buffer,
): Readonly<Record<string, string>> => {
  const seconds = Math.floor(now / 1000);
  const signatures = secrets.map((secret) => {
    const mac = createHmac('sha256', secret).update(`${deliveryId}.${seconds}.`).update(body);
    return `v1,${mac.digest('base64')}`;
  });
  return {
    'webhook-id': deliveryId,
    'webhook-timestamp': String(seconds),
    'webhook-signature': signatures.join(' '),
  };
};
