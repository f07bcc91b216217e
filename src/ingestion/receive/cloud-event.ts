import { Invalid } from '../../errors.js';
import { issueOfId } from '../../events/streams.js';
import { INSTANT_RULE, tooFarAhead, isUnstorable } from '../../events/declaring/fields.js';
import { parseInstant } from '../../events/instant.js';
import { isJsonMediaType, isUriReference } from '../../events/cloud-event-schema.js';
import { parserOf, sliceJson } from '../../http/json.js';
import { finish } from '../../flow/turns.js';
import { traceparentOf } from '../../runtime/tracing.js';

/**
 * A parsed CloudEvent 1.0. If `issues` is empty, every attribute is present and valid; otherwise only `id` may be used,
 * to identify the event in the response. `data` is not validated yet.
 */
export interface CloudEvent {
  readonly id: string | undefined;
  readonly source: string;
  readonly type: string;
  /** ms */
  readonly time: number;
  readonly data: unknown;
  /** W3C Trace Context of the event's producer. Undefined if absent or invalid. */
  readonly traceparent?: string | undefined;
  /** One message per problem. */
  readonly issues: readonly string[];
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** Whether a string or property name of a JSON value contains U+0000 or a lone surrogate (see `isUnstorable`). */
const holdsUnstorable = (value: unknown): boolean => {
  // Iterative, because the sender controls the nesting depth.
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next === 'string') {
      if (isUnstorable(next)) return true;
    } else if (Array.isArray(next)) {
      for (const item of next as unknown[]) open.push(item);
    } else if (typeof next === 'object' && next !== null) {
      for (const [name, item] of Object.entries(next)) open.push(name, item);
    }
  }
  return false;
};

const requireText = (name: string, value: unknown, issues: string[]): string => {
  if (typeof value === 'string' && value !== '') return value;
  issues.push(value === undefined ? `${name} is required` : `${name} must be a non-empty string`);
  return '';
};

const requireId = (name: string, value: unknown, issues: string[]): string => {
  const id = requireText(name, value, issues);
  const issue = id === '' ? undefined : issueOfId(id);
  if (issue !== undefined) issues.push(`${name} ${issue}`);
  return issue === undefined ? id : '';
};

const requireTime = (value: unknown, latestTimeMs: number, issues: string[]): number => {
  if (value === undefined) {
    issues.push('time is required');
    return 0;
  }
  const time = typeof value === 'string' ? parseInstant(value) : undefined;
  if (time === undefined || time < 0) issues.push(`time ${INSTANT_RULE}`);
  else if (time > latestTimeMs) issues.push(`time ${tooFarAhead(time, latestTimeMs)}`);
  return time ?? 0;
};

/** Parses base64 JSON. Failures are issues of the event, because its other attributes are readable. */
const readBase64 = (text: unknown, issues: string[]): unknown => {
  if (typeof text !== 'string' || text.length % 4 !== 0 || !BASE64.test(text)) {
    issues.push('data_base64 must be base64 (RFC 4648, padded) of JSON');
    return undefined;
  }
  const bytes = Buffer.from(text, 'base64');
  try {
    const [slice] = finish(sliceJson(bytes));
    if (slice!.excess !== undefined) issues.push(`data_base64: ${slice!.excess}`);
    else return parserOf(bytes)(slice!).json;
  } catch (error) {
    if (!(error instanceof Invalid)) throw error;
    issues.push('data_base64 must contain JSON in UTF-8');
  }
  return undefined;
};

/**
 * Parses one event's attributes strictly: a missing id or time is not generated, because a generated value would differ
 * with each retry. Attributes that this service does not use are ignored.
 * @param value the event in its JSON form
 * @param latestTimeMs the latest time that an event may have, in ms; an event with a later time has an issue
 * @param suspicious whether the source text has escapes that may be U+0000 or a lone surrogate; `data` is searched for
 *   these characters only then
 */
export const readCloudEvent = (value: unknown, latestTimeMs: number, suspicious: boolean): CloudEvent => {
  const issues: string[] = [];
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return unreadable('the event must be a JSON object');
  const attributes = value as Readonly<Record<string, unknown>>;
  /** In the JSON format, null means absent. */
  const attribute = (name: string): unknown => attributes[name] ?? undefined;
  const [specversion, id, base64] = [attribute('specversion'), attribute('id'), attribute('data_base64')];
  if (specversion !== '1.0') issues.push('specversion must be "1.0"');
  requireId('id', id, issues);
  const source = requireId('source', attribute('source'), issues);
  if (source !== '' && !isUriReference(source))
    issues.push('source must be a URI reference (RFC 3986), such as https://upstream.example/threats');
  const type = requireText('type', attribute('type'), issues);
  const time = requireTime(attribute('time'), latestTimeMs, issues);
  const isInline = 'data' in attributes;
  if (base64 !== undefined && isInline) issues.push('data and data_base64 must not both be present');
  else if (base64 === undefined && !isInline) issues.push('data is required');
  const data = base64 === undefined || isInline ? attributes['data'] : readBase64(base64, issues);
  const contentType = attribute('datacontenttype');
  if (contentType !== undefined && !(typeof contentType === 'string' && isJsonMediaType(contentType)))
    issues.push('datacontenttype must be a JSON media type, such as application/json');
  if ((suspicious || base64 !== undefined) && holdsUnstorable(data))
    issues.push('data must not contain U+0000 or lone surrogates');
  const traceparent = traceparentOf(attributes['traceparent']);
  return { id: typeof id === 'string' ? id : undefined, source, type, time, data, traceparent, issues };
};

/** An event that could not be parsed. */
export const unreadable = (issue: string): CloudEvent => ({
  id: undefined,
  source: '',
  type: '',
  time: 0,
  data: undefined,
  issues: [issue],
});
