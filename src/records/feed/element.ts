import { FEED_SOURCE, FEED_TYPE_PREFIX } from '../../events/feed-schema.js';
import { formatInstant } from '../../events/instant.js';
import { itemOf, kindOf } from '../item.js';
import type { ItemRow } from '../statements.js';
import type { ElementRow } from './statements.js';

/** An element of the feed as JSON. Written piece by piece, which takes a third of the time; an answer has a thousand. */
export const elementJson = (id: string, row: ElementRow): string => {
  const kind = kindOf(row.kind);
  const attributes =
    `"specversion":"1.0","id":"${id}","source":"${FEED_SOURCE}","type":"${FEED_TYPE_PREFIX}${kind}",` +
    `"subject":${JSON.stringify(row.id)},"time":"${formatInstant(row.storedAt)}"`;
  if (row.createdAt === null) return `{${attributes},"method":"DELETE"}`;
  const data = JSON.stringify(itemOf(kind, row as ItemRow));
  return `{${attributes},"datacontenttype":"application/json","data":${data}}`;
};
