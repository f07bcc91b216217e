import { TextDecoder } from 'node:util';
import { errorCodes, type FastifyInstance, type FastifyRequest } from 'fastify';
import { JsonBoundsChecker } from '../../json/bounds.js';
import { BODY_LIMIT } from '../byte-limits.js';
import { ownerOf } from '../access/caller.js';
import type { TimeSlices } from '../../flow/time-slices.js';
import { BodyReader } from './body-reader.js';

type Done = (error: Error | null, body?: unknown) => void;

const CLOUD_EVENTS = ['application/cloudevents+json', 'application/cloudevents-batch+json'];

/** The raw body; undefined if it is empty. */
const readBytes = (request: FastifyRequest, reader: BodyReader, done: Done): void => {
  const pieces: Buffer[] = [];
  reader.read(
    request,
    (piece) => pieces.push(piece),
    (error) => done(error, pieces.length === 0 ? undefined : Buffer.concat(pieces)),
  );
};

const createDecoder = (): TextDecoder => new TextDecoder('utf-8', { fatal: true });
const utf8 = createDecoder();
const decode = (decoder: TextDecoder, piece?: Uint8Array, stream = false): string => {
  try {
    return decoder.decode(piece, { stream });
  } catch {
    throw new errorCodes.FST_ERR_CTP_INVALID_JSON_BODY();
  }
};

/**
 * The body as text. Decoding and the check of its structure happen as chunks arrive: at the end they would take too
 * long. Most bodies are one chunk, which needs no decoder of its own.
 */
const readText = (
  request: FastifyRequest,
  reader: BodyReader,
  done: (error: Error | null, text: string) => void,
): void => {
  const { 'content-encoding': coding, 'content-length': length } = request.headers;
  const whole = coding === undefined ? Number(length) : undefined;
  const bounds = request.access?.json;
  const watched = bounds === undefined ? undefined : new JsonBoundsChecker(bounds);
  let decoder: TextDecoder | undefined;
  let text = '';
  const take = (piece: Buffer): void => {
    watched?.watch(piece);
    if (piece.length === whole) text = decode(utf8, piece);
    else text += decode((decoder ??= createDecoder()), piece, true);
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

/** Reads bodies as JSON in strict UTF-8, or as bytes if the route asks for them; nothing else is accepted. */
export const readJsonBodies = (instance: FastifyInstance, slices: TimeSlices): void => {
  const reader = new BodyReader(slices);
  instance.removeAllContentTypeParsers();
  // `__proto__` and `constructor.prototype` are dropped, so that copying the body cannot change a prototype.
  const parse = instance.getDefaultJsonParser('remove', 'remove');

  instance.addContentTypeParser('application/json', (request: FastifyRequest, _: unknown, done: Done) => {
    if (request.access?.rawBody === true) return readBytes(request, reader, done);
    readText(request, reader, (error, text) => {
      if (error !== null) return done(error);
      // An empty body counts as missing fields: clients send the header with a DELETE that has no body.
      if (text === '') return done(null, undefined);
      if (text.length <= BODY_LIMIT) return void parse(request, text, done);
      // Megabytes take milliseconds to parse, so it waits for the caller's turn.
      slices.begin(ownerOf(request.caller ?? undefined), () => void parse(request, text, done));
    });
  });
  for (const type of CLOUD_EVENTS)
    instance.addContentTypeParser(type, (request: FastifyRequest, _: unknown, done: Done) => {
      if (request.access?.rawBody !== true) return done(new errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE());
      readBytes(request, reader, done);
    });
};
