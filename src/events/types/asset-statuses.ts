import { type Declared, upstreamEvent } from '../declaring/declaration.js';
import { asset, id, instant, isSlug, oneOf } from '../declaring/fields.js';
import { brandReviews } from '../declaring/list-fields.js';

export const ASSET_STATUSES = ['UNKNOWN', 'ALLOWED', 'BLOCKED'] as const;
export type AssetStatus = (typeof ASSET_STATUSES)[number];

export const assetStatusChanged = upstreamEvent('AssetStatusChanged', {
  description:
    "An entry of an asset's status history. The newest entry that is not deleted determines the asset's status.",
  fields: {
    changeId: id('Identifies the entry across organizations.'),
    asset: asset('The asset whose status changed.'),
    status: oneOf(
      ASSET_STATUSES,
      'The status that the asset check returns. UNKNOWN means that the asset has no status.',
    ),
    brandReviews: brandReviews(
      'The brands that the entry concerns. A BLOCKED entry counts as one threat for each brand.',
    ),
    createdAt: instant('When the asset got this status. The entry is counted at this instant.'),
  },
  example: {
    changeId: 'change-90210',
    asset: { type: 'URL', content: 'metamask-login.example' },
    status: 'BLOCKED',
    brandReviews: [{ organization: 'acme', brand: 'metamask' }],
    createdAt: '2026-03-01T12:01:00.000Z',
  },
});
export type AssetStatusChanged = Declared<typeof assetStatusChanged>;

export const assetStatusChangeDeleted = upstreamEvent('AssetStatusChangeDeleted', {
  description: "An entry of an asset's status history was deleted permanently. No later event restores the entry.",
  fields: {
    changeId: id('The id of the entry, as in `AssetStatusChanged`. The deletion may arrive before the entry.'),
    asset: asset('The asset of the entry.'),
    deletedAt: instant('When the entry was deleted.'),
  },
  example: {
    changeId: 'change-90187',
    asset: { type: 'TWITTER', content: 'https://x.com/metamask_airdrop' },
    deletedAt: '2026-03-02T08:15:00.000Z',
  },
});
export type AssetStatusChangeDeleted = Declared<typeof assetStatusChangeDeleted>;

/** A review in the data of an event that may be invalid. */
export type StoredReview = { readonly organization?: unknown } | null | undefined;

/** Returns the `brandReviews` of an event that may be invalid. */
export const reviewsOf = (data: unknown): readonly StoredReview[] => {
  const { brandReviews } = (data ?? {}) as { readonly brandReviews?: unknown };
  return Array.isArray(brandReviews) ? (brandReviews as StoredReview[]) : [];
};

/** Returns the distinct organizations that the reviews of an event name; the event may be invalid. */
export const reviewersOf = (data: unknown): string[] => [
  ...new Set(reviewsOf(data).flatMap((review) => (isSlug(review?.organization) ? review.organization : []))),
];
