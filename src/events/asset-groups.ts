import { type Declared, ownEvent, upstreamEvent } from './declaration.js';
import { asset, instant, slug, text, wholeNumber } from './fields.js';

export const assetGrouped = upstreamEvent('AssetGrouped', {
  description: 'An asset was put into a group; it is now in no other group of the organization.',
  fields: {
    organization: slug('Whose group it is.'),
    groupId: wholeNumber(1, "The group's number; one that does not exist yet counts once it does."),
    asset: asset('What is grouped.'),
    updatedAt: instant('Since when it has been in this group.'),
  },
  example: {
    organization: 'acme',
    groupId: 1,
    asset: { type: 'URL', content: 'metamask-login.example' },
    updatedAt: '2026-03-01T13:00:00.000Z',
  },
});

export const assetUngrouped = upstreamEvent('AssetUngrouped', {
  description: 'An asset was taken out of its group; it is now in no group of the organization.',
  fields: {
    organization: slug('Whose group it was.'),
    asset: asset('What is no longer grouped.'),
    updatedAt: instant('Since when it has been in no group.'),
  },
  example: {
    organization: 'acme',
    asset: { type: 'TWITTER', content: 'https://x.com/metamask_airdrop' },
    updatedAt: '2026-03-01T13:05:00.000Z',
  },
});

export const assetGroupCreated = ownEvent('AssetGroupCreated', {
  organization: slug('Whose group it is.'),
  groupId: wholeNumber(1, 'Unique within the organization for ever.'),
  name: text(255, 'Unique within the organization at any time.'),
  createdAt: instant('When it was created.'),
});
export type AssetGroupCreated = Declared<typeof assetGroupCreated>;

export const assetGroupRenamed = ownEvent('AssetGroupRenamed', {
  organization: slug('Whose group it is.'),
  groupId: wholeNumber(1, "The group's number."),
  name: text(255, 'Its new name.'),
  updatedAt: instant('When it was renamed.'),
});
export type AssetGroupRenamed = Declared<typeof assetGroupRenamed>;

export const assetGroupDeleted = ownEvent('AssetGroupDeleted', {
  organization: slug('Whose group it was.'),
  groupId: wholeNumber(1, "The group's number."),
  deletedAt: instant('When it was deleted.'),
});
export type AssetGroupDeleted = Declared<typeof assetGroupDeleted>;

/**
 * No group was created, because its name was taken. Recorded only where the client sent an `Idempotency-Key`, so that
 * the same request gets the same answer.
 */
export const assetGroupRefused = ownEvent('AssetGroupRefused', {
  organization: slug('Whose group it would have been.'),
  name: text(255, 'The name that was taken.'),
  createdAt: instant('When it was refused.'),
});
export type AssetGroupRefused = Declared<typeof assetGroupRefused>;

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
