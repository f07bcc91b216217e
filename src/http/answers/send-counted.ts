import type { FastifyReply } from 'fastify';
import { formatInstant } from '../../events/instant.js';
import type { ConsistencyTokens } from '../consistency/consistency-token.js';
import { entityTag, isKnown } from './entity-tag.js';

/** An answer, all of one snapshot. */
export interface AsOf<Answer> {
  readonly answer: Answer;
  /** Everything acknowledged before this instant (ms) is counted. */
  readonly asOf: number;
  /** Everything up to this position of the log is counted; -1 before the first event. */
  readonly position: number;
  /** Instants (ms) in the answer that only reflect the time of the request, and so do not count as content. */
  readonly clock?: readonly number[];
}

/** A client keeps an answer and revalidates it, which is cheap if nothing was counted since. */
const CACHE_CONTROL = 'private, max-age=0, must-revalidate';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** The moment of a statement's snapshot, from its columns `asOf` and `position`. */
export const momentOf = (row: {
  readonly asOf: number | null;
  readonly position: number | null;
}): Pick<AsOf<never>, 'asOf' | 'position'> => ({ asOf: row.asOf ?? 0, position: row.position ?? -1 });

/** An answer as text. */
interface CountedText extends Omit<AsOf<never>, 'answer'> {
  readonly type: string;
  readonly text: string;
  /** What the tag is made of, if not of the text. */
  readonly content?: string;
}

/**
 * Answers as of one moment: the text with that instant, a token and a tag, or a 304 if the client has the same content.
 */
export const sendCounted = async (
  { type, text, asOf, position, clock = [], content = text }: CountedText,
  tokens: ConsistencyTokens,
  reply: FastifyReply,
): Promise<string | undefined> => {
  const tag = entityTag(clock.reduce((rest, instant) => rest.replaceAll(formatInstant(instant), ''), content));
  void reply.headers({ 'x-as-of': formatInstant(asOf), 'cache-control': CACHE_CONTROL, etag: tag });
  await tokens.add(reply, position);
  if (isKnown(reply.request.headers['if-none-match'], tag)) {
    void reply.code(304);
    return undefined;
  }
  void reply.type(type);
  return text;
};
