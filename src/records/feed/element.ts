import { FEED_SOURCE, FEED_TYPE_PREFIX } from '../../events/feed-schema.js';
import { formatInstant } from '../../events/instant.js';
import { itemJson, kindOf } from '../item.js';
import type { ItemRow } from '../statements.js';
import type { ElementRow } from './statements.js';

/** An element of the feed as JSON. Written piece by piece, as `itemJson`. */
export const elementJson = (id: string, row: ElementRow): string => {
  const kind = kindOf(row.kind);
  const attributes =
    `"specversion":"1.0","id":"${id}","source":"${FEED_SOURCE}","type":"${FEED_TYPE_PREFIX}${kind}",` +
    `"subject":${JSON.stringify(row.id)},"time":"${formatInstant(row.storedAt)}"`;
  if (row.createdAt === null) return `{${attributes},"method":"DELETE"}`;
  return `{${attributes},"datacontenttype":"application/json","data":${itemJson(kind, row as ItemRow)}}`;
};
