import { isAscii, isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import { PayloadTooLargeException, UnsupportedMediaTypeException } from '@nestjs/common';
import { Invalid } from '../errors.js';
import { refusalOfPacked } from '../http/packed-body.js';
import { type CloudEvent, readCloudEvent } from './cloud-event.js';

export const STRUCTURED = 'application/cloudevents+json';
export const BATCH = 'application/cloudevents-batch+json';
export const BINARY = 'application/json';

export const MOST_EVENTS = 1_000;
/** Bytes. */
export const LARGEST_BODY = 8 * 1024 * 1024;

/** Escapes that may stand for U+0000 or for half of a surrogate pair. Many are harmless; without one nothing is wrong. */
const SUSPICIOUS = /\\u(?:0000|[dD][89a-fA-F])/;
const ATTRIBUTE_HEADER = 'ce-';
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

const parseJson = (body: Buffer): { readonly json: unknown; readonly suspicious: boolean } => {
  if (!isUtf8(body)) throw new Invalid('The body is not UTF-8');
  // ASCII is decoded several times faster as what it is.
  const text = isAscii(body) ? body.toString('latin1') : body.toString('utf8');
  try {
    return { json: JSON.parse(text) as unknown, suspicious: SUSPICIOUS.test(text) };
  } catch (error) {
    // The parser quotes the text it failed on; what was sent stays out of answers and logs.
    const place = /at position \d+/.exec((error as Error).message)?.[0];
    throw new Invalid(`The body is not JSON${place ? `: unexpected character ${place}` : ''}`);
  }
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

const readBinary = (headers: NodeJS.Dict<string[]>, body: Buffer, latest: number): CloudEvent => {
  const { json } = parseJson(body);
  const attributes: Record<string, unknown> = { data: json };
  const issues: string[] = [];
  for (const [header, values = []] of Object.entries(headers)) {
    const name = header.slice(ATTRIBUTE_HEADER.length);
    if (!header.startsWith(ATTRIBUTE_HEADER) || name === 'data' || name === 'data_base64') continue;
    // The content type header says what the data is; the binding gives it no header of its own.
    if (name === 'datacontenttype') continue;
    const value = values.length === 1 ? decodeHeader(values[0]!) : undefined;
    attributes[name] = value ?? '';
    if (values.length > 1) issues.push(`${header} is there ${values.length} times`);
    else if (value === undefined) issues.push(`${header} must be percent-encoded UTF-8`);
  }
  // One event is searched whole: a header can hold %00 where its body looks harmless.
  const event = readCloudEvent(attributes, latest, true);
  return issues.length > 0 ? { ...event, issues: [...issues, ...event.issues] } : event;
};

export interface EventsRequest {
  readonly headers: IncomingHttpHeaders;
  /** Every header with all its values, as Node's `IncomingMessage.headersDistinct` gives them. */
  readonly headersDistinct: NodeJS.Dict<string[]>;
  readonly body: Buffer;
}

/**
 * The events of a request in any of the three modes of the CloudEvents HTTP binding, in order, each with what is wrong
 * with it.
 * @param latest times after this one are refused, in ms
 * @throws UnsupportedMediaTypeException, PayloadTooLargeException, Invalid where nothing can be read as events
 */
export const readEvents = ({ headers, headersDistinct, body }: EventsRequest, latest: number): CloudEvent[] => {
  const mediaType = mediaTypeOf(headers['content-type'] ?? '');
  if (mediaType !== STRUCTURED && mediaType !== BATCH && mediaType !== BINARY)
    throw new UnsupportedMediaTypeException(`Send ${BATCH}, ${STRUCTURED}, or ${BINARY} with ce- headers, in UTF-8`);
  const refusal = refusalOfPacked(headers);
  if (refusal !== undefined) throw refusal;
  if (body.length > LARGEST_BODY) throw new PayloadTooLargeException(`A request holds at most ${LARGEST_BODY} bytes`);
  if (mediaType === BINARY) {
    if (!Object.keys(headersDistinct).some((name) => name.startsWith(ATTRIBUTE_HEADER)))
      throw new Invalid(
        `${BINARY} without ce- headers is no event: send ${STRUCTURED} or ${BATCH}, or add the headers`,
      );
    return [readBinary(headersDistinct, body, latest)];
  }
  const { json, suspicious } = parseJson(body);
  if (mediaType === STRUCTURED) {
    if (Array.isArray(json)) throw new Invalid(`${STRUCTURED} holds one event; send a list as ${BATCH}`);
    if (typeof json !== 'object' || json === null) throw new Invalid('The body must be one event, a JSON object');
    return [readCloudEvent(json, latest, suspicious)];
  }
  if (!Array.isArray(json)) throw new Invalid(`${BATCH} holds a list of events; send one event as ${STRUCTURED}`);
  if (json.length > MOST_EVENTS)
    throw new PayloadTooLargeException(`A batch holds at most ${MOST_EVENTS} events; this one holds ${json.length}`);
  return json.map((value: unknown) => readCloudEvent(value, latest, suspicious));
};
