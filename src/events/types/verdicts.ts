import { type Declared, upstreamEvent, ownEvent } from '../declaring/declaration.js';
import {
  asset,
  id,
  instant,
  instantAhead,
  isSlug,
  oneOf,
  brandReviews,
  field,
  MAX_CONTENT,
  optional,
  slug,
  text,
} from '../declaring/fields.js';
import { formatInstant } from '../instant.js';
import { type ItemOf, VERDICT_SCHEMA } from '../listed-items.js';
import { limit } from '../../limits.js';

export const ASSET_STATUSES = ['UNKNOWN', 'ALLOWED', 'BLOCKED'] as const;
export type AssetStatus = (typeof ASSET_STATUSES)[number];

export const assetStatusChanged = upstreamEvent('AssetStatusChanged', {
  description:
    "An entry of an asset's status history. The newest entry that is neither deleted nor expired determines the asset's " +
    'status.',
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
    expiresAt: optional(
      instantAhead(
        'From this instant on, the entry does not determine the status any more, and the next older entry that is neither ' +
          'deleted nor expired does. Any time after `createdAt`. Metrics and records keep the entry. Absent: never.',
      ),
    ),
  },
  rule: ({ createdAt, expiresAt = Infinity }, validation) => {
    if (expiresAt <= createdAt) validation.reject('expiresAt', 'must be later than data.createdAt');
  },
  example: {
    changeId: 'change-90210',
    asset: { type: 'URL', content: 'metamask-login.example' },
    status: 'BLOCKED',
    brandReviews: [{ organization: 'acme', brand: 'metamask' }],
    createdAt: '2026-03-01T12:01:00.000Z',
  },
});

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

/** Maximum number of characters of the reason of a dispute, and of the note of its resolution. */
export const MAX_REASON = limit('`reason` and `note` of a dispute', 2_000, 'characters', 'value', '400');

export const DISPUTE_OUTCOMES = ['ACCEPTED', 'REJECTED'] as const;

/** The result of an asset check, without the asset. */
export interface CheckVerdict {
  readonly status: AssetStatus;
  readonly source: string;
  readonly reason?: string | undefined;
  readonly sources: readonly object[];
  readonly message: string;
}

const verdict = field<CheckVerdict>(VERDICT_SCHEMA, (value, path, validation) => {
  const { status, source, message, sources } = (value ?? {}) as Record<string, unknown>;
  if (![status, source, message].every((each) => typeof each === 'string') || !Array.isArray(sources))
    validation.reject(path, 'must be the result of an asset check');
  return value as CheckVerdict;
});

/** An organization says that the verdict about an asset is wrong. */
export const disputeFiled = ownEvent('DisputeFiled', {
  organization: slug('The organization that filed the dispute.'),
  disputeId: id('Identifies the dispute; never reused.'),
  asset: asset('The disputed asset, as the asset check parsed the content.'),
  content: text(MAX_CONTENT, 'The content as sent.'),
  verdict,
  reason: optional(text(MAX_REASON, 'Why the verdict is wrong, in the words of the organization.')),
  createdAt: instant('When the dispute was filed.'),
  idempotencyKeyHash: optional(id('SHA-256 of the `Idempotency-Key` of the request that filed the dispute, hex.')),
  bodyHash: optional(id('SHA-256 of the body of that request without `contact`, hex.')),
});
export type DisputeFiled = Declared<typeof disputeFiled>;

export const disputeResolved = upstreamEvent('DisputeResolved', {
  description:
    'A dispute was decided. A dispute is resolved once; if several resolutions of a dispute arrive, the latest one counts. ' +
    'Accepting a dispute does not change the status of the asset: also send the correct `AssetStatusChanged`.',
  fields: {
    organization: slug('The organization that filed the dispute.'),
    disputeId: id('The id of the dispute, as in the records of the organization.'),
    outcome: oneOf(DISPUTE_OUTCOMES, 'ACCEPTED if the verdict was wrong, REJECTED if the verdict was right.'),
    note: optional(text(MAX_REASON, 'An explanation for the organization.')),
    resolvedAt: instant('When the dispute was decided.'),
  },
  example: {
    organization: 'acme',
    disputeId: 'dp_4a7d1ed414474e4033ac29cc',
    outcome: 'ACCEPTED',
    note: 'The site was cleaned on 1 March.',
    resolvedAt: '2026-03-02T09:00:00.000Z',
  },
});
type DisputeResolved = Declared<typeof disputeResolved>;

/** Returns a dispute as lists and the feed show it. */
export const disputeItem = (
  { disputeId, asset: disputed, content, verdict: disputedVerdict, reason, createdAt }: DisputeFiled['data'],
  resolution?: DisputeResolved['data'],
): ItemOf<'dispute'> => ({
  id: disputeId,
  asset: disputed,
  content,
  status: resolution?.outcome ?? 'OPEN',
  verdict: disputedVerdict,
  reason,
  note: resolution?.note,
  createdAt: formatInstant(createdAt),
  updatedAt: formatInstant(resolution?.resolvedAt ?? createdAt),
});
