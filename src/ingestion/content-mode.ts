import type { IncomingHttpHeaders } from 'node:http';
import { PayloadTooLargeException, UnsupportedMediaTypeException } from '@nestjs/common';
import { Invalid } from '../errors.js';
import { type CloudEvent, readCloudEvent, unreadable } from './cloud-event.js';
import { firstCharacter, parserOf, sliceJson } from './json-slices.js';
import { MAX_BODY } from './limits.js';

export const STRUCTURED = 'application/cloudevents+json';
export const BATCH = 'application/cloudevents-batch+json';
export const BINARY = 'application/json';

const ATTRIBUTE_HEADER = 'ce-';
const READ_ATTRIBUTES = ['specversion', 'id', 'source', 'type', 'time'] as const;
const PRINTABLE_ASCII = /^[\t\x20-\x7e]*$/;

/** The media type, lower-case; undefined where a parameter says that the body is not UTF-8. */
const mediaTypeOf = (contentType: string): string | undefined => {
  const [mediaType = '', ...parameters] = contentType.toLowerCase().split(';');
  const isUtf8Charset = (parameter: string): boolean => {
    const [name = '', value = ''] = parameter.split('=');
    return name.trim() !== 'charset' || /^"?utf-?8"?$/.test(value.trim());
  };
  return parameters.every(isUtf8Charset) ? mediaType.trim() : undefined;
};

/** The value a header stands for: double quotes taken off (older senders put them), then percent-decoded, once. */
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

const readBinary = (headers: NodeJS.Dict<string[]>, json: unknown, latest: number): CloudEvent => {
  const attributes: Record<string, unknown> = { data: json };
  const issues: string[] = [];
  // What is not read refuses nothing, such as a subject in plain UTF-8. The content type header says what the data is.
  for (const name of READ_ATTRIBUTES) {
    const header = `${ATTRIBUTE_HEADER}${name}`;
    const values = headers[header];
    if (values === undefined) continue;
    const value = values.length === 1 ? decodeHeader(values[0]!) : undefined;
    attributes[name] = value ?? '';
    if (values.length > 1) issues.push(`${header} is there ${values.length} times`);
    else if (value === undefined) issues.push(`${header} must be percent-encoded UTF-8`);
  }
  const event = readCloudEvent(attributes, latest, true);
  return issues.length > 0 ? { ...event, issues: [...issues, ...event.issues] } : event;
};

export interface EventsRequest {
  readonly headers: IncomingHttpHeaders;
  /** Every header with all its values, as Node's `IncomingMessage.headersDistinct` gives them. */
  readonly headersDistinct: NodeJS.Dict<string[]>;
  readonly body: Buffer;
}

/** Events as they are read, one at a time; undefined where the reading may pause. */
export type ReadingEvents = Iterable<CloudEvent | undefined>;

function* readBody(mediaType: string, { headersDistinct, body }: EventsRequest, latest: number): ReadingEvents {
  const parse = parserOf(body);
  const isBatch = mediaType === BATCH;
  const first = firstCharacter(body);
  if (first === '') throw new Invalid('The body is not JSON: it is empty');
  if (isBatch && first !== '[') throw new Invalid(`${BATCH} holds a list of events; send one event as ${STRUCTURED}`);
  if (mediaType === STRUCTURED && first === '[')
    throw new Invalid(`${STRUCTURED} holds one event; send a list as ${BATCH}`);
  if (mediaType === STRUCTURED && first !== '{') throw new Invalid('The body must be one event, a JSON object');
  for (const slice of yield* sliceJson(body, isBatch)) {
    if (slice.excess !== undefined) {
      yield unreadable(slice.excess);
      continue;
    }
    const { json, suspicious } = parse(slice);
    yield mediaType === BINARY ? readBinary(headersDistinct, json, latest) : readCloudEvent(json, latest, suspicious);
  }
}

/**
 * The events of a request in any of the three modes of the CloudEvents HTTP binding, in order, each with what is wrong
 * with it. The body is read as they are asked for, so that one event at a time is in memory.
 * @param latest times after this one are refused, in ms
 * @throws UnsupportedMediaTypeException, PayloadTooLargeException, Invalid where nothing can be read as events; while
 *   they are read Invalid or PayloadTooLargeException, and then none of them counts
 */
export const readEvents = (request: EventsRequest, latest: number): ReadingEvents => {
  const { headers, headersDistinct, body } = request;
  const mediaType = mediaTypeOf(headers['content-type'] ?? '');
  if (mediaType !== STRUCTURED && mediaType !== BATCH && mediaType !== BINARY)
    throw new UnsupportedMediaTypeException(`Send ${BATCH}, ${STRUCTURED}, or ${BINARY} with ce- headers, in UTF-8`);
  if (body.length > MAX_BODY) throw new PayloadTooLargeException(`A request holds at most ${MAX_BODY} bytes`);
  if (mediaType === BINARY && !Object.keys(headersDistinct).some((name) => name.startsWith(ATTRIBUTE_HEADER)))
    throw new Invalid(`${BINARY} without ce- headers is no event: send ${STRUCTURED} or ${BATCH}, or add the headers`);
  return readBody(mediaType, request, latest);
};
