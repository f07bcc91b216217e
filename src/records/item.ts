import { formatInstant } from '../events/instant.js';
import { LISTED_KIND } from '../events/listed-items.js';
import { timeOf } from '../events/record.js';

/**
 * SQL for what the item of a record in the register consists of, without spaces except in its last part: its creation,
 * version and expiry, its status, type and brands, and its content as JSON. Of a dispute, the item itself. Null: the
 * record was deleted.
 */
export const ITEM_PARTS = `case when created_at is null then null when item is not null then item else
        concat_ws(' ', created_at, version, coalesce(expires_at::text, ''), coalesce(status, ''), coalesce(type, ''),
          coalesce(array_to_string(brands, '","'), ''), to_json(content)) end`;

/** SQL for the maximum size of an item in bytes. Escaped characters may double the size of the id. */
export const itemBytes = (parts: string): string => `(octet_length(${parts}) + 2 * octet_length(id) + 128)`;

/** Returns the item of a record as JSON, with the fields that `listed-items.ts` declares. @param parts as `ITEM_PARTS` */
export const itemOf = (kind: number, id: string, parts: string): string => {
  if (kind === LISTED_KIND.dispute) return parts;
  const fields = parts.split(' ', 6) as [string, string, string, string, string, string];
  const [created, version, expiry, status, type, brands] = fields;
  const createdAt = formatInstant(+created);
  const head = `{"id":${JSON.stringify(id)},`;
  const dates = `"createdAt":"${createdAt}","updatedAt":"${formatInstant(timeOf(+version))}"}`;
  const named = brands === '' ? '' : `"${brands}"`;
  if (kind === LISTED_KIND.report) return `${head}"brands":[${named}],${dates}`;
  const content = parts.slice(fields.join(' ').length + 1);
  const asset = `"asset":{"type":"${type}","content":${content}},"status":"${status}",`;
  if (kind === LISTED_KIND.verdict) {
    const expires = expiry === '' ? '' : `,"expiresAt":"${formatInstant(+expiry)}"`;
    return `${head}${asset}"brands":[${named}],"createdAt":"${createdAt}"${expires}}`;
  }
  return `${head}${asset}${named === '' ? '' : `"brand":${named},`}${dates}`;
};
