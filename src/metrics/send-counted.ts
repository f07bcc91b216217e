import type { FastifyReply, FastifyRequest } from 'fastify';
import { formatInstant } from '../events/instant.js';
import { entityTag, isKnown } from '../http/entity-tag.js';
import type { AsOf } from './metrics-queries.js';

/** A client keeps an answer and revalidates it, which is cheap if nothing was counted since. */
const CACHE_CONTROL = 'private, max-age=0, must-revalidate';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** An answer as text. */
interface CountedText extends Omit<AsOf<never>, 'answer'> {
  readonly type: string;
  readonly text: string;
}

/** Answers a metrics route: the text with its as-of instant and tag, or a 304 if the client has the same content. */
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
