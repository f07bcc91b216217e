import { reviewersOf, reviewsOf } from '../../../events/types/asset-statuses.js';
import { ERASED_CATEGORY, ERASED_TYPE, organizationOf } from '../../../events/streams.js';
import type { ErasedOrganizations } from '../../rewriting/erased-organizations.js';
import type { NewEvent, RecordedEvent } from '../../event-log.js';

/** The stored form of `copyOf` in the metadata of a copy. */
interface StoredCopy {
  readonly copyOf?: { readonly position: string; readonly recordedAt: number };
}

/** Returns the organizations that the reviews of an event name. */
export const reviewersIn = ({ type, data }: Pick<NewEvent | RecordedEvent, 'type' | 'data'>): readonly string[] =>
  type === 'AssetStatusChanged' ? reviewersOf(data) : [];

/** Returns the organizations that an event names: the owner of its stream, of its key, or those of its reviews. */
export const organizationsOf = (stream: string, event: Pick<NewEvent | RecordedEvent, 'type' | 'data'>): unknown[] => [
  organizationOf(stream),
  ...(event.type === 'ApiKeyIssued' ? [(event.data as { organization?: unknown } | null)?.organization] : []),
  ...reviewersIn(event),
];

/** Returns the data of a verdict without the reviews of some organizations. Everything else keeps its order. */
export const withoutReviews = (data: unknown, isErased: (organization: unknown) => boolean): object => {
  const brandReviews = reviewsOf(data).filter((review) => !isErased(review?.organization));
  return { ...(data as object), brandReviews };
};

/** Makes a copy of an event, with the same id, that names the place of the original. */
export const copyOf = ({ id, type, data, metadata, position, recordedAt, copyOf }: RecordedEvent): NewEvent => {
  const original = { position: String(copyOf?.position ?? position), recordedAt: copyOf?.recordedAt ?? recordedAt };
  return { id, type, data: data as object, metadata: { ...(metadata as object), copyOf: original } };
};

/** Reads the place of the original from the metadata of a copy. */
export const readCopy = (event: RecordedEvent): RecordedEvent => {
  const { copyOf, ...metadata } = (event.metadata ?? {}) as StoredCopy;
  if (copyOf === undefined || !/^[0-9]{1,19}$/.test(copyOf.position)) return event;
  return { ...event, metadata, copyOf: { position: BigInt(copyOf.position), recordedAt: copyOf.recordedAt } };
};

/**
 * Returns an event as the log has it after the erasure of organizations. A deleted event stays in `$all` until the
 * nodes are scavenged, and must not return to the read models in a rebuild.
 */
export const withoutErased = (event: RecordedEvent, erased: ErasedOrganizations): RecordedEvent => {
  if (erased.isEmpty) return event;
  const isErased = (organization: unknown): boolean => typeof organization === 'string' && erased.has(organization);
  const { stream, position } = event;
  if (!organizationsOf(stream, event).some(isErased)) return event;
  if (event.type === 'AssetStatusChanged' && organizationOf(stream) === undefined)
    return { ...event, data: withoutReviews(event.data, isErased) };
  const content = { type: ERASED_TYPE, data: {}, metadata: {} };
  if (event.type === 'ApiKeyIssued') return { ...event, ...content };
  return { ...event, ...content, stream: `${ERASED_CATEGORY}-${position}`, revision: 0n };
};
