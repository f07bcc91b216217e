import { hash } from 'node:crypto';
import { isLongerThan } from './declaring/text.js';

/** RFC 9562: the namespace of URLs, 6ba7b811-9dad-11d1-80b4-00c04fd430c8. */
const URL_NAMESPACE = Buffer.from('6ba7b8119dad11d180b400c04fd430c8', 'hex');
const VARIANTS = '89ab';

/** Maximum length of `source` and of `id` in code points. */
export const MAX_ID_LENGTH = 1_024;

/** Control characters. Parts of an event id are joined by newlines, so a newline in a part could make two ids equal. */
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\0-\x1f\x7f-\x9f]/;
/** JSON Schema pattern for the texts that `issueOfId` accepts, without the limit of the length. */
export const ID_PATTERN = String.raw`^[^\u0000-\u001F\u007F-\u009F\uD800-\uDFFF]+$`;

/** Returns why a string cannot be a `source` or `id`; undefined if it can. */
export const issueOfId = (value: string): string | undefined => {
  if (value === '' || isLongerThan(value, MAX_ID_LENGTH)) return `must be 1 to ${MAX_ID_LENGTH} characters`;
  if (CONTROL.test(value)) return 'must not contain control characters';
  return value.isWellFormed() ? undefined : 'must not contain lone surrogates';
};

/**
 * Returns the UUIDv5 in the URL namespace. No library is used, because this function runs for every event and a library
 * takes three times as long.
 */
const uuidOf = (name: string): string => {
  const bytes = Buffer.allocUnsafe(URL_NAMESPACE.length + Buffer.byteLength(name));
  URL_NAMESPACE.copy(bytes);
  bytes.write(name, URL_NAMESPACE.length);
  const hex = hash('sha1', bytes, 'hex');
  const variant = VARIANTS[Number.parseInt(hex[16]!, 16) & 3]!;
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};

/** The source in the ids of events that a repeated call of the operator must store only once. */
export const OWN_SOURCE = 'threat-protection';

/**
 * Returns the event id of a CloudEvent: the UUIDv5 (namespace URL) of `source`, `id`, `type` and stream name, joined by
 * newlines. The stream name includes the organization, so that no organization can use an event id of another
 * organization.
 */
export const eventIdOf = (source: string, id: string, type: string, stream: string): string =>
  uuidOf(`${source}\n${id}\n${type}\n${stream}`);

/** Returns the event id as in version 2.0, from `source` and `id` only, for events that are already in a log. */
export const legacyEventIdOf = (source: string, id: string): string => uuidOf(`${source}\n${id}`);
