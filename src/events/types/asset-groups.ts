import { type Declared, ownEvent, upstreamEvent } from '../declaring/declaration.js';
import { asset, instant, slug, text, wholeNumber } from '../declaring/fields.js';

export const assetGrouped = upstreamEvent('AssetGrouped', {
  description: 'An asset was added to a group. The asset leaves its previous group in the organization.',
  fields: {
    organization: slug('The organization that owns the group.'),
    groupId: wholeNumber(
      1,
      'The id of the group. If no group has this id yet, the asset counts as soon as a group with this id is created.',
    ),
    asset: asset('The grouped asset.'),
    updatedAt: instant('When the asset was added to this group.'),
  },
  example: {
    organization: 'acme',
    groupId: 1,
    asset: { type: 'URL', content: 'metamask-login.example' },
    updatedAt: '2026-03-01T13:00:00.000Z',
  },
});

export const assetUngrouped = upstreamEvent('AssetUngrouped', {
  description: 'An asset was removed from its group. The asset is now in no group of the organization.',
  fields: {
    organization: slug('The organization that owned the group.'),
    asset: asset('The removed asset.'),
    updatedAt: instant('When the asset was removed from its group.'),
  },
  example: {
    organization: 'acme',
    asset: { type: 'TWITTER', content: 'https://x.com/metamask_airdrop' },
    updatedAt: '2026-03-01T13:05:00.000Z',
  },
});

export const assetGroupCreated = ownEvent('AssetGroupCreated', {
  organization: slug('The organization that owns the group.'),
  groupId: wholeNumber(1, 'Unique within the organization, never reused.'),
  name: text(255, 'Unique within the organization at any time.'),
  createdAt: instant('When the group was created.'),
});
export type AssetGroupCreated = Declared<typeof assetGroupCreated>;

export const assetGroupRenamed = ownEvent('AssetGroupRenamed', {
  organization: slug('The organization that owns the group.'),
  groupId: wholeNumber(1, 'The id of the group.'),
  name: text(255, 'The new name of the group.'),
  updatedAt: instant('When the group was renamed.'),
});
export type AssetGroupRenamed = Declared<typeof assetGroupRenamed>;

export const assetGroupDeleted = ownEvent('AssetGroupDeleted', {
  organization: slug('The organization that owned the group.'),
  groupId: wholeNumber(1, 'The id of the group.'),
  deletedAt: instant('When the group was deleted.'),
});
export type AssetGroupDeleted = Declared<typeof assetGroupDeleted>;

/**
 * A group was not created because its name was taken. Recorded only if the client sent an `Idempotency-Key`, so that a
 * repeated request gets the same response.
 */
export const assetGroupRefused = ownEvent('AssetGroupRefused', {
  organization: slug('The organization that would have owned the group.'),
  name: text(255, 'The name that was taken.'),
  createdAt: instant('When the request was refused.'),
});
export type AssetGroupRefused = Declared<typeof assetGroupRefused>;
