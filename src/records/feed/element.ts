import { FEED_SOURCE, FEED_TYPE_PREFIX } from '../../events/feed-schema.js';
import { formatInstant } from '../../events/instant.js';
import { kindOf } from '../../events/kinds.js';

export interface ElementRow {
  readonly position: number;
  /** As in `kinds.ts`. */
  readonly kind: number;
  readonly id: string;
  readonly eventId: string;
  /** ms */
  readonly storedAt: number;
  /** The JSON that is shown; empty: deleted. */
  readonly item: string;
}

/** The most bytes of an element without its `subject` and `data`. */
export const MAX_ATTRIBUTE_BYTES = 320;

/** An element of the feed as JSON. Written piece by piece: an answer has a thousand. */
export const elementJson = (elementId: string, { kind, id, storedAt, item }: ElementRow): string => {
  const attributes =
    `"specversion":"1.0","id":"${elementId}","source":"${FEED_SOURCE}","type":"${FEED_TYPE_PREFIX}${kindOf(kind)}",` +
    `"subject":${JSON.stringify(id)},"time":"${formatInstant(storedAt)}"`;
  if (item === '') return `{${attributes},"method":"DELETE"}`;
  return `{${attributes},"datacontenttype":"application/json","data":${item}}`;
};
