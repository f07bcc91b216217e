import { TextDecoder } from 'node:util';
import { errorCodes, type FastifyInstance, type FastifyRequest } from 'fastify';
import { JsonBoundsChecker } from '../json.js';
import { BODY_LIMIT } from '../byte-limits.js';
import { ownerOf } from '../access/caller.js';
import type { TimeSlices } from '../../flow/turns.js';
import { BodyReader } from './body-reader.js';

type Done = (error: Error | null, body?: unknown) => void;

/** Events, and data of an event in JSON whose attributes are headers. */
const OTHER_JSON = /^[\w.-]+\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

/** Reads the raw body; undefined if the body is empty. */
const readBytes = (request: FastifyRequest, reader: BodyReader, done: Done): void => {
  const chunks: Buffer[] = [];
  reader.read(
    request,
    (chunk) => chunks.push(chunk),
    (error) => done(error, chunks.length === 0 ? undefined : Buffer.concat(chunks)),
  );
};

const createDecoder = (): TextDecoder => new TextDecoder('utf-8', { fatal: true });
const utf8 = createDecoder();
const decode = (decoder: TextDecoder, chunk?: Uint8Array, stream = false): string => {
  try {
    return decoder.decode(chunk, { stream });
  } catch {
    throw new errorCodes.FST_ERR_CTP_INVALID_JSON_BODY();
  }
};

/**
 * Reads the body as text. Chunks are decoded and checked for their structure as they arrive, because doing so at the end
 * would block the event loop. Most bodies consist of one chunk, which needs no streaming decoder.
 */
const readText = (
  request: FastifyRequest,
  reader: BodyReader,
  done: (error: Error | null, text: string) => void,
): void => {
  const { 'content-encoding': coding, 'content-length': length } = request.headers;
  const wholeLength = coding === undefined ? Number(length) : undefined;
  const bounds = request.access?.json;
  const checker = bounds === undefined ? undefined : new JsonBoundsChecker(bounds);
  let decoder: TextDecoder | undefined;
  let text = '';
  const take = (chunk: Buffer): void => {
    checker?.watch(chunk);
    if (chunk.length === wholeLength) text = decode(utf8, chunk);
    else text += decode((decoder ??= createDecoder()), chunk, true);
  };
  reader.read(request, take, (error) => {
    if (error !== null) return done(error, '');
    try {
      if (decoder !== undefined) text += decode(decoder);
    } catch (broken) {
      return done(broken as Error, '');
    }
    done(null, text);
  });
};

/**
 * Registers parsers that read bodies as JSON in strict UTF-8, or as bytes on routes with `rawBody`. Bodies of other
 * types are rejected with 415.
 */
export const readJsonBodies = (instance: FastifyInstance, slices: TimeSlices): void => {
  const reader = new BodyReader(slices);
  instance.removeAllContentTypeParsers();
  // A request without a body needs no media type.
  instance.addHook('onRequest', (request, _, done) => {
    const { 'content-length': length = '0', 'transfer-encoding': coding } = request.headers;
    if (request.method === 'OPTIONS' && length === '0' && coding === undefined) delete request.headers['content-type'];
    done();
  });
  // The parser drops `__proto__` and `constructor.prototype`, so that copying the body cannot change a prototype.
  const parse = instance.getDefaultJsonParser('remove', 'remove');

  instance.addContentTypeParser('application/json', (request: FastifyRequest, _: unknown, done: Done) => {
    if (request.access?.rawBody === true) return readBytes(request, reader, done);
    readText(request, reader, (error, text) => {
      if (error !== null) return done(error);
      // An empty body is valid here, because clients send a Content-Type with a DELETE that has no body.
      if (text === '') return done(null, undefined);
      if (text.length <= BODY_LIMIT) return void parse(request, text, done);
      // Parsing megabytes takes milliseconds, so the parser runs in a time slice of the caller.
      slices.begin(ownerOf(request.caller), () => void parse(request, text, done));
    });
  });
  instance.addContentTypeParser(OTHER_JSON, (request: FastifyRequest, _: unknown, done: Done) => {
    if (request.access?.rawBody !== true) return done(new errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE());
    readBytes(request, reader, done);
  });
};
