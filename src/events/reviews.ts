import { isSlug } from './declaring/fields.js';

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
