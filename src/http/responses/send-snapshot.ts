import type { FastifyReply } from 'fastify';
import { formatInstant } from '../../events/instant.js';
import type { ConsistencyTokens } from '../consistency/consistency-token.js';
import { entityTag, matchesEntityTag } from './entity-tag.js';

/** A query result that comes from one snapshot. */
export interface AsOf<Result> {
  readonly result: Result;
  /** The result includes all events acknowledged before this instant, in ms. */
  readonly asOf: number;
  /** The result includes all events up to this position of the log; -1 before the first event. */
  readonly position: number;
  /**
   * Instants in the result, in ms, that only reflect the time of the request. The entity tag ignores these instants.
   */
  readonly requestInstants?: readonly number[];
  /** The texts that `sharedText` has made of the result, by media type. */
  texts?: Record<string, Promise<TaggedText>>;
}

/** The text of a response, and its entity tag. */
interface TaggedText {
  readonly text: string;
  readonly tag: string;
}

/** Clients cache a response and revalidate it, which is cheap if the content is unchanged. */
export const REVALIDATED = 'private, max-age=0, must-revalidate';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** Reads the time and the position of a snapshot from the columns `asOf` and `position` of a statement. */
export const momentOf = (row: {
  readonly asOf: number | null;
  readonly position: number | null;
}): Pick<AsOf<never>, 'asOf' | 'position'> => ({ asOf: row.asOf ?? 0, position: row.position ?? -1 });

/**
 * Returns a result as text, with its entity tag. Requests that share the result also share its text, because making
 * several large texts in one turn of the event loop would delay the requests of other organizations.
 * @param type the media type of the text
 * @param make makes the text; called once per result and media type
 */
export const sharedText = <Result>(
  snapshot: AsOf<Result>,
  type: string,
  make: (result: Result) => string | Promise<string>,
): Promise<TaggedText> => {
  const texts = (snapshot.texts ??= {});
  return (texts[type] ??= (async () => {
    const text = await make(snapshot.result);
    const content = snapshot.requestInstants?.reduce((rest, at) => rest.replaceAll(formatInstant(at), ''), text);
    return { text, tag: entityTag(content ?? text) };
  })());
};

/** A result as the text of a response. */
interface SnapshotText extends TaggedText, Pick<AsOf<never>, 'asOf' | 'position'> {
  readonly type: string;
}

/** Sends a result with its `X-As-Of`, `Consistency-Token` and `ETag`, or a 304 if the client has the same content. */
export const sendSnapshot = async (
  { type, text, tag, asOf, position }: SnapshotText,
  tokens: ConsistencyTokens,
  reply: FastifyReply,
): Promise<string | undefined> => {
  void reply.headers({ 'x-as-of': formatInstant(asOf), 'cache-control': REVALIDATED, etag: tag });
  await tokens.add(reply, position);
  if (matchesEntityTag(reply.request.headers['if-none-match'], tag)) {
    void reply.code(304);
    return undefined;
  }
  void reply.type(type);
  return text;
};
