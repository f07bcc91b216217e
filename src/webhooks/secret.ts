import { hkdfSync } from 'node:crypto';
import type { MasterKey, MasterKeys } from './master-keys.js';

const SECRET_BYTES = 32;

/** Which secret of which endpoint; generations count from 1. */
interface SecretName {
  readonly webhookId: string;
  readonly generation: number;
}

/**
 * The key that signs, derived by HKDF-SHA-256, so that it is in no database, backup or log: without the master key its
 * name is worth nothing.
 */
export const signingKey = ({ key }: MasterKey, { webhookId, generation }: SecretName): Buffer =>
  Buffer.from(hkdfSync('sha256', key, '', `webhook secret\n${webhookId}\n${generation}`, SECRET_BYTES));

/** As it is shown to the organization, and as `standardwebhooks` takes it. */
export const secretText = (key: Buffer): string => `whsec_${key.toString('base64')}`;

/** An endpoint's secrets, by name, and the ids of the master keys that they are derived from. */
export interface SecretNames extends SecretName {
  readonly masterKey: string;
  readonly previousGeneration?: number | null | undefined;
  readonly previousMasterKey?: string | null | undefined;
  /** ms */
  readonly previousUntil?: number | null | undefined;
}

/**
 * The keys that sign at an instant, the newest first: two while a secret is rotated.
 * @param now ms
 * @throws Error if the master key of the newest one is missing
 * @throws ConfigError if the file of the master keys cannot be used
 */
export const signingKeys = (keys: MasterKeys, names: SecretNames, now: number): Buffer[] => {
  const { webhookId, generation, masterKey, previousGeneration, previousMasterKey, previousUntil } = names;
  const newest = keys.find(masterKey);
  if (newest === undefined)
    throw new Error(`The master key ${masterKey} is missing, from which the secret of ${webhookId} is derived`);
  const signing = [signingKey(newest, { webhookId, generation })];
  if (previousGeneration != null && previousMasterKey != null && now < (previousUntil ?? 0)) {
    const previous = keys.find(previousMasterKey);
    // What only the old key verifies is refused by the receiver and tried again; what the new one verifies is not lost.
    if (previous !== undefined) signing.push(signingKey(previous, { webhookId, generation: previousGeneration }));
  }
  return signing;
};
