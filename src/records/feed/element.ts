import { FEED_SOURCE, FEED_TYPE_PREFIX } from '../../events/feed-schema.js';
import { formatInstant } from '../../events/instant.js';
import { kindOf } from '../../events/kinds.js';
import type { ElementRow } from './statements.js';

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
