import { FEED_SOURCE, FEED_TYPE_PREFIX } from '../../events/feed-schema.js';
import { formatInstant } from '../../events/instant.js';
import { kindOf } from '../../events/listed-items.js';

export interface ElementRow {
  readonly position: number;
  /** As in `listed-items.ts`. */
  readonly kind: number;
  readonly id: string;
  readonly eventId: string;
  /** ms since 1970 */
  readonly storedAt: number;
  /** The record as JSON; empty if the record was deleted. */
  readonly item: string;
}

/** Maximum size in bytes of an element without its `subject` and `data`. */
export const MAX_ATTRIBUTE_BYTES = 320;

/**
 * Writes an element of the feed as JSON. The text is concatenated without `JSON.stringify` for speed, because a
 * response has up to 1,000 elements.
 */
export const elementJson = (elementId: string, { kind, id, storedAt, item }: ElementRow): string => {
  const attributes =
    `"specversion":"1.0","id":"${elementId}","source":"${FEED_SOURCE}","type":"${FEED_TYPE_PREFIX}${kindOf(kind)}",` +
    `"subject":${JSON.stringify(id)},"time":"${formatInstant(storedAt)}"`;
  if (item === '') return `{${attributes},"method":"DELETE"}`;
  return `{${attributes},"datacontenttype":"application/json","data":${item}}`;
};
