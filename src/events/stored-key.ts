import { assetHash, assetKey } from '../assets/asset-key.js';
import { type Asset, hashOfKey, KEY_VERSION } from '../assets/asset.js';
import type { DomainEvent } from './event.js';
import { isRedacted } from './redacted.js';

/**
 * The normalized key of an event's asset, which the service computes once, when it stores the event, and keeps as
 * `assetKey` in the metadata of the event.
 */
export interface StoredKey {
  /** The `KEY_VERSION` that the key was computed with. A key of another version is not used. */
  readonly version: number;
  /** `assetHash` of the asset. */
  readonly hash: string;
  /** The key itself, for entries of the status history only: a key may be nine times as long as its content. */
  readonly key?: string;
}

/** A stored event about an asset. */
interface AboutAsset {
  readonly event: { readonly data: { readonly asset: Asset } };
  readonly metadata: unknown;
}

/** Computes the key of a new event's asset; undefined if the event is not about an asset. */
export const newKeyOf = ({ data }: DomainEvent): string | undefined =>
  'asset' in data ? assetKey(data.asset) : undefined;

/** Returns the key of a new event, for the metadata of the event; undefined if the event is not about an asset. */
export const newStoredKey = (event: DomainEvent, key = newKeyOf(event)): StoredKey | undefined =>
  key === undefined
    ? undefined
    : { version: KEY_VERSION, hash: hashOfKey(key), ...('changeId' in event.data && { key }) };

const readStoredKey = (metadata: unknown, isVersionKept = false): Partial<StoredKey> => {
  const { assetKey: stored } = (metadata ?? {}) as { readonly assetKey?: Partial<StoredKey> | null };
  return stored && (stored.version === KEY_VERSION || isVersionKept) ? stored : {};
};

/** Returns the `assetHash` that the metadata of an event has; undefined if the hash must be computed. */
export const storedHashOf = (metadata: unknown): string | undefined => {
  const { hash } = readStoredKey(metadata);
  return typeof hash === 'string' ? hash : undefined;
};

/**
 * Returns the `assetHash` of a stored event's asset. Reads the content only if the metadata does not have the hash. The
 * hash of a redacted asset is the stored one, whatever its version, because it cannot be computed again.
 */
export const hashOf = ({ event, metadata }: AboutAsset): string => {
  const { hash } = readStoredKey(metadata, isRedacted(event.data.asset));
  return typeof hash === 'string' ? hash : assetHash(event.data.asset);
};

/**
 * Returns the key of a stored event's asset; '' if the asset was redacted. Reads the content only if the metadata does
 * not have the key.
 */
export const keyOf = ({ event, metadata }: AboutAsset): string => {
  if (isRedacted(event.data.asset)) return '';
  const { key } = readStoredKey(metadata);
  return typeof key === 'string' ? key : assetKey(event.data.asset);
};
