import { hash } from 'node:crypto';
import { isLongerThan } from './declaring/text.js';

/** RFC 9562: the namespace of URLs, 6ba7b811-9dad-11d1-80b4-00c04fd430c8. */
const URL_NAMESPACE = Buffer.from('6ba7b8119dad11d180b400c04fd430c8', 'hex');
const VARIANTS = '89ab';

/** Code points of `source` and of `id`, each. */
export const MAX_ID_LENGTH = 1_024;

/** C0, DEL and C1. A newline inside a part would let two different events have the same id. */
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\0-\x1f\x7f-\x9f]/;
/** What `issueOfId` accepts, except for the length, as a JSON Schema pattern. */
export const ID_PATTERN = String.raw`^[^\u0000-\u001F\u007F-\u009F\uD800-\uDFFF]+$`;

/** Why a string cannot be a `source` or `id`; undefined if it can. */
export const issueOfId = (value: string): string | undefined => {
  if (value === '' || isLongerThan(value, MAX_ID_LENGTH)) return `must be 1 to ${MAX_ID_LENGTH} characters`;
  if (CONTROL.test(value)) return 'must not contain control characters';
  return value.isWellFormed() ? undefined : 'must not contain lone surrogates';
};

/** UUIDv5, namespace URL. Our own, because it runs for every event and the library takes three times as long. */
const uuidOf = (name: string): string => {
  const bytes = Buffer.allocUnsafe(URL_NAMESPACE.length + Buffer.byteLength(name));
  URL_NAMESPACE.copy(bytes);
  bytes.write(name, URL_NAMESPACE.length);
  const hex = hash('sha1', bytes, 'hex');
  const variant = VARIANTS[Number.parseInt(hex[16]!, 16) & 3]!;
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};

/**
 * The event id of a CloudEvent: UUIDv5 (namespace URL) of `source`, `id`, `type` and the stream's name, joined by
 * newlines. The stream includes record and organization, so nobody can take another organization's event id.
 */
export const eventIdOf = (source: string, id: string, type: string, stream: string): string =>
  uuidOf(`${source}\n${id}\n${type}\n${stream}`);

/** The event id as of version 2.0, from `source` and `id` only; for events already in a log. */
export const legacyEventIdOf = (source: string, id: string): string => uuidOf(`${source}\n${id}`);
