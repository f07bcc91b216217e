import type { FastifyReply, FastifyRequest } from 'fastify';
import { formatInstant } from '../events/instant.js';
import { entityTag, isKnown } from '../http/entity-tag.js';

/** A client keeps an answer and asks each time whether it is still the one: cheap where nothing was counted since. */
const CACHE_CONTROL = 'private, max-age=0, must-revalidate';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** An answer as text. */
export interface CountedText {
  readonly type: string;
  readonly text: string;
  /** Everything answered at the door before this instant (ms) is counted. */
  readonly asOf: number;
  /** Instants (ms) in the text that only say when it was asked; what they are changes nothing of the content. */
  readonly clock?: readonly number[];
}

/**
 * What a route of metrics gives back: the text with its moment and tag, or nothing where the client has the same content
 * (304).
 */
export const sendCounted = (
  { type, text, asOf, clock = [] }: CountedText,
  { headers }: FastifyRequest,
  reply: FastifyReply,
): string | undefined => {
  const content = clock.reduce((rest, instant) => rest.replaceAll(formatInstant(instant), ''), text);
  const tag = entityTag(content);
  void reply.headers({ 'x-as-of': formatInstant(asOf), 'cache-control': CACHE_CONTROL, etag: tag });
  if (isKnown(headers['if-none-match'], tag)) {
    void reply.code(304);
    return undefined;
  }
  void reply.type(type);
  return text;
};
