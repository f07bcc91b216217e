import { hkdfSync } from 'node:crypto';
import type { MasterKey, MasterKeys } from './master-keys.js';

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
export interface SecretNames extends SecretName {
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
