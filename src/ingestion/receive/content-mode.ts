import { PayloadTooLargeException, UnsupportedMediaTypeException } from '@nestjs/common';
import { type ListLimit, firstCharacter, parserOf, sliceJson } from '../../http/json.js';
import { MS_PER_DAY } from '../../events/instant.js';
import { Invalid } from '../../errors.js';
import { type CloudEvent, readCloudEvent, unreadable } from './cloud-event.js';
import { limit } from '../../limits.js';

/** Maximum number of events per request. */
export const MAX_EVENTS = limit('batch', 1_000, 'events', 'request', '413');
/** Maximum size of a request body, in bytes. */
export const MAX_BODY = limit('body with events, compressed or not', 8 * 1024 * 1024, 'bytes', 'request', '413');

const MAX_AHEAD_MS = MS_PER_DAY;
const MAX_AHEAD_OF_OWN_KEY_MS = 5 * 60_000;

/**
 * The latest time that an event may have now, in ms. The newest state of a record wins, so a state dated in the future
 * blocks all changes until then. An organization's own key may therefore exceed the current time only by a typical clock
 * difference.
 * @param now ms, by the database's clock
 * @param organization the organization of the key; undefined for an upstream key
 */
export const latestFrom = (now: number, organization: string | undefined): number =>
  now + (organization === undefined ? MAX_AHEAD_MS : MAX_AHEAD_OF_OWN_KEY_MS);

class TooManyEvents extends PayloadTooLargeException {
  constructor() {
    super(`A batch may have at most ${MAX_EVENTS} events`);
  }
}

export const EVENTS_OF_A_BATCH: ListLimit = { max: MAX_EVENTS, excess: () => new TooManyEvents() };

export const STRUCTURED = 'application/cloudevents+json';
export const BATCH = 'application/cloudevents-batch+json';
export const BINARY = 'application/json';
/** A media type of JSON that is no mode of CloudEvents, such as `application/vnd.example+json`. */
const JSON_DATA = /^(?!application\/cloudevents)[\w.-]+\/(?:[\w.+-]+\+)?json$/;

/** Every header with all its values, as Node's `IncomingMessage.headersDistinct`. */
type Headers = NodeJS.Dict<string[]>;

const ATTRIBUTE_HEADER = 'ce-';
const READ_ATTRIBUTES = ['specversion', 'id', 'source', 'type', 'time'] as const;
const PRINTABLE_ASCII = /^[\t\x20-\x7e]*$/;

/**
 * The media type in lower case, `application/json` for the data of an event in any type of JSON; undefined if a parameter
 * declares a charset other than UTF-8.
 */
const mediaTypeOf = (contentType: string): string | undefined => {
  const [mediaType = '', ...parameters] = contentType.toLowerCase().split(';');
  const isUtf8Charset = (parameter: string): boolean => {
    const [name = '', value = ''] = parameter.split('=');
    return name.trim() !== 'charset' || /^"?utf-?8"?$/.test(value.trim());
  };
  if (!parameters.every(isUtf8Charset)) return undefined;
  return JSON_DATA.test(mediaType.trim()) ? BINARY : mediaType.trim();
};

/** Decodes a header's value: removes double quotes (sent by older SDKs), then percent-decodes once. */
const decodeHeader = (value: string): string | undefined => {
  const quoted = /^"((?:[^"\\]|\\.)*)"$/.exec(value);
  const plain = quoted ? quoted[1]!.replace(/\\(.)/g, '$1') : value;
  if (!PRINTABLE_ASCII.test(plain)) return undefined;
  try {
    return decodeURIComponent(plain);
  } catch {
    return undefined;
  }
};

const readBinary = (headers: Headers, json: unknown, latestTimeMs: number): CloudEvent => {
  const attributes: Record<string, unknown> = { data: json };
  const issues = new Map<string, string>();
  // Only these attributes are read, so that a header that is not used, such as `ce-subject` in raw UTF-8, cannot make
  // an event invalid. In binary mode, Content-Type takes the place of the attribute `datacontenttype`, so the attribute
  // is not read.
  for (const name of READ_ATTRIBUTES) {
    const header = `${ATTRIBUTE_HEADER}${name}`;
    const values = headers[header];
    if (values === undefined) continue;
    const value = values.length === 1 ? decodeHeader(values[0]!) : undefined;
    attributes[name] = value ?? values[0];
    if (values.length > 1) issues.set(name, `${header} is present ${values.length} times`);
    else if (value === undefined) issues.set(name, `${header} must be percent-encoded UTF-8`);
  }
  // `traceparent` is an extension attribute: an invalid value is ignored and does not make the event invalid.
  attributes['traceparent'] = headers[`${ATTRIBUTE_HEADER}traceparent`]?.[0];
  const event = readCloudEvent(attributes, latestTimeMs, true);
  if (issues.size === 0) return event;
  // The text of such a header only names the event in the response. What is said about its value would be untrue.
  const others = event.issues.filter((issue) => !issues.has(issue.split(' ', 1)[0]!));
  return { ...event, issues: [...issues.values(), ...others] };
};

/** Events parsed lazily; undefined at points where parsing may pause. */
export type LazyEvents = Iterable<CloudEvent | undefined>;

function* readBody(mediaType: string, headers: Headers, body: Buffer, latestTimeMs: number): LazyEvents {
  const parse = parserOf(body);
  const isBatch = mediaType === BATCH;
  const first = firstCharacter(body);
  if (first === '') throw new Invalid('The body is not JSON: it is empty');
  if (isBatch && first !== '[') throw new Invalid(`${BATCH} is for a list of events; send one event as ${STRUCTURED}`);
  if (mediaType === STRUCTURED && first === '[')
    throw new Invalid(`${STRUCTURED} is for one event; send a list as ${BATCH}`);
  if (mediaType === STRUCTURED && first !== '{') throw new Invalid('The body must be one event, a JSON object');
  for (const slice of yield* sliceJson(body, isBatch ? EVENTS_OF_A_BATCH : undefined)) {
    if (slice.excess !== undefined) {
      yield unreadable(slice.excess);
      continue;
    }
    const { json, suspicious } = parse(slice);
    yield mediaType === BINARY
      ? readBinary(headers, json, latestTimeMs)
      : readCloudEvent(json, latestTimeMs, suspicious);
  }
}

/**
 * A request's events in any of the three modes of the CloudEvents HTTP binding, in order, each with its issues. The
 * body is parsed lazily, so that only one event is in memory at a time.
 * @param latestTimeMs the latest time that an event may have, in ms; an event with a later time has an issue
 * @throws UnsupportedMediaTypeException, PayloadTooLargeException or Invalid if the body cannot be parsed as events;
 *   iterating may also throw Invalid or PayloadTooLargeException, and the caller must then discard the events that it
 *   has already got
 */
export const readEvents = (headers: Headers, body: Buffer, latestTimeMs: number): LazyEvents => {
  const mediaType = mediaTypeOf(headers['content-type']?.[0] ?? '');
  if (mediaType !== STRUCTURED && mediaType !== BATCH && mediaType !== BINARY)
    throw new UnsupportedMediaTypeException(`Send ${BATCH}, ${STRUCTURED}, or ${BINARY} with ce- headers, in UTF-8`);
  if (body.length > MAX_BODY) throw new PayloadTooLargeException(`A request may have at most ${MAX_BODY} bytes`);
  if (mediaType === BINARY && !Object.keys(headers).some((name) => name.startsWith(ATTRIBUTE_HEADER)))
    throw new Invalid(
      `${BINARY} without ce- headers is not an event: send ${STRUCTURED} or ${BATCH}, or add the headers`,
    );
  return readBody(mediaType, headers, body, latestTimeMs);
};
