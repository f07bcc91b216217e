import type { FastifyReply } from 'fastify';
import { formatInstant } from '../../events/instant.js';
import { entityTag, isKnown } from './entity-tag.js';

/** An answer, all of one snapshot. */
export interface AsOf<Answer> {
  readonly answer: Answer;
  /** Everything acknowledged before this instant (ms) is counted. */
  readonly asOf: number;
  /** Instants (ms) in the answer that only reflect the time of the request, and so do not count as content. */
  readonly clock?: readonly number[];
}

/** A client keeps an answer and revalidates it, which is cheap if nothing was counted since. */
const CACHE_CONTROL = 'private, max-age=0, must-revalidate';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** An answer as text. */
interface CountedText extends Omit<AsOf<never>, 'answer'> {
  readonly type: string;
  readonly text: string;
  /** What the tag is made of, if not of the text. */
  readonly content?: string;
}

/** Answers as of one moment: the text with that instant and a tag, or a 304 if the client has the same content. */
export const sendCounted = (
  { type, text, asOf, clock = [], content = text }: CountedText,
  reply: FastifyReply,
): string | undefined => {
  const tag = entityTag(clock.reduce((rest, instant) => rest.replaceAll(formatInstant(instant), ''), content));
  void reply.headers({ 'x-as-of': formatInstant(asOf), 'cache-control': CACHE_CONTROL, etag: tag });
  if (isKnown(reply.request.headers['if-none-match'], tag)) {
    void reply.code(304);
    return undefined;
  }
  void reply.type(type);
  return text;
};
