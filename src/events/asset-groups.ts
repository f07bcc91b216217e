import type { Asset } from '../assets/asset.js';
import type { Fields } from './fields.js';

/** Reported upstream: the asset is now in this group, and in no other of the organization. */
export interface AssetGrouped {
  readonly type: 'AssetGrouped';
  readonly data: {
    readonly organization: string;
    readonly groupId: number;
    readonly asset: Asset;
    readonly updatedAt: number;
  };
}

/** Reported upstream: the asset is now in no group of the organization. */
export interface AssetUngrouped {
  readonly type: 'AssetUngrouped';
  readonly data: { readonly organization: string; readonly asset: Asset; readonly updatedAt: number };
}

/** Decided here. The number is unique within the organization for ever. */
export interface AssetGroupCreated {
  readonly type: 'AssetGroupCreated';
  readonly data: {
    readonly organization: string;
    readonly groupId: number;
    readonly name: string;
    readonly createdAt: number;
  };
}

export interface AssetGroupRenamed {
  readonly type: 'AssetGroupRenamed';
  readonly data: {
    readonly organization: string;
    readonly groupId: number;
    readonly name: string;
    readonly updatedAt: number;
  };
}

export interface AssetGroupDeleted {
  readonly type: 'AssetGroupDeleted';
  readonly data: { readonly organization: string; readonly groupId: number; readonly deletedAt: number };
}

/**
 * Decided here: no group was created, because its name was taken. Recorded only where the client sent an
 * `Idempotency-Key`, so that the same request gets the same answer.
 */
export interface AssetGroupRefused {
  readonly type: 'AssetGroupRefused';
  readonly data: { readonly organization: string; readonly name: string; readonly createdAt: number };
}

/** What a client's `Idempotency-Key` leaves in the metadata of the event that answered it: two SHA-256, hex. */
export interface IdempotentRequest {
  readonly idempotencyKeyHash: string;
  readonly bodyHash: string;
}

/** How long the answer to a request with an `Idempotency-Key` is given again, in ms. */
export const IDEMPOTENCY_TTL_MS = 24 * 60 * 60 * 1000;

const SHA_256 = /^[0-9a-f]{64}$/;

/** Reads it from an event's metadata; undefined where the client sent no key. */
export const idempotentRequestOf = (metadata: unknown): IdempotentRequest | undefined => {
  const { idempotencyKeyHash, bodyHash } = (metadata ?? {}) as Record<string, unknown>;
  return typeof idempotencyKeyHash === 'string' &&
    typeof bodyHash === 'string' &&
    SHA_256.test(idempotencyKeyHash) &&
    SHA_256.test(bodyHash)
    ? { idempotencyKeyHash, bodyHash }
    : undefined;
};

export const assetGrouped = (fields: Fields): AssetGrouped['data'] => ({
  organization: fields.slug('organization'),
  groupId: fields.wholeNumber('groupId', 1),
  asset: fields.asset('asset'),
  updatedAt: fields.instant('updatedAt'),
});

export const assetUngrouped = (fields: Fields): AssetUngrouped['data'] => ({
  organization: fields.slug('organization'),
  asset: fields.asset('asset'),
  updatedAt: fields.instant('updatedAt'),
});

export const assetGroupCreated = (fields: Fields): AssetGroupCreated['data'] => ({
  organization: fields.slug('organization'),
  groupId: fields.wholeNumber('groupId', 1),
  name: fields.text('name', 255),
  createdAt: fields.instant('createdAt'),
});

export const assetGroupRenamed = (fields: Fields): AssetGroupRenamed['data'] => ({
  organization: fields.slug('organization'),
  groupId: fields.wholeNumber('groupId', 1),
  name: fields.text('name', 255),
  updatedAt: fields.instant('updatedAt'),
});

export const assetGroupDeleted = (fields: Fields): AssetGroupDeleted['data'] => ({
  organization: fields.slug('organization'),
  groupId: fields.wholeNumber('groupId', 1),
  deletedAt: fields.instant('deletedAt'),
});

export const assetGroupRefused = (fields: Fields): AssetGroupRefused['data'] => ({
  organization: fields.slug('organization'),
  name: fields.text('name', 255),
  createdAt: fields.instant('createdAt'),
});
