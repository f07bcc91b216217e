import { createHash } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import { applyDecorators, type Type } from '@nestjs/common';
import { ApiExtraModels, ApiHeader, ApiOkResponse, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import { formatInstant } from '../../events/instant.js';
import type { ConsistencyTokens } from '../consistency.js';
import { ApiFailure } from '../errors/error-body.dto.js';

/** Returns a weak entity tag, which the compressed and the uncompressed form of the content share. */
export const entityTag = (content: string | Buffer): string =>
  `W/"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`;

const TAG = /(?:W\/)?("[^"]*")/g;
const opaque = (tag: string): string => tag.replace(/^W\//, '');

/** Whether `If-None-Match` names the tag. Tags are compared weakly, and `*` matches every tag (RFC 9110, 13.1.2). */
export const matchesEntityTag = (ifNoneMatch: string | undefined, tag: string): boolean =>
  ifNoneMatch !== undefined &&
  (ifNoneMatch.trim() === '*' || [...ifNoneMatch.matchAll(TAG)].some(([, known]) => known === opaque(tag)));

/** The media type of CSV with a header line (RFC 4180, RFC 7111), which every table of this service has. */
export const CSV = 'text/csv; charset=utf-8; header=present';

/**
 * Matches cells that a spreadsheet would treat as a formula. The sign may be full-width or small, and may follow spaces
 * or invisible characters. A leading control character matches too, because a spreadsheet may drop it.
 */
const FORMULA = /^(?:\p{Cc}|[\p{Z}\p{Cf}\p{Cc}]*[=+\-@＝＋－＠﹦﹢﹣﹫])/u;
const QUOTED = /[",\r\n]/;

/** Formats a cell. Text that a spreadsheet would evaluate gets a leading apostrophe. */
const cell = (value: string | number): string => {
  if (typeof value === 'number') return String(value);
  const text = FORMULA.test(value) ? `'${value}` : value;
  return QUOTED.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** Formats one line, including CR LF. */
export const csvLine = (cells: readonly (string | number)[]): string => `${cells.map(cell).join(',')}\r\n`;

/** A query result that comes from one snapshot. */
export interface AsOf<Result> {
  readonly result: Result;
  /** The result includes all events acknowledged before this instant, in ms. */
  readonly asOf: number;
  /** The result includes all events up to this position of the log; -1 before the first event. */
  readonly position: number;
  /** The response is about the state of the log at this instant, in ms. Absent: about the present. */
  readonly knownAt?: number | undefined;
  /**
   * Instants in the result, in ms, that only reflect the time of the request. The entity tag ignores these instants.
   */
  readonly requestInstants?: readonly number[];
  /** The texts that `sharedText` has made of the result, by media type. */
  texts?: Record<string, Promise<TaggedText>>;
}

/** The text of a response, and its entity tag. */
export interface TaggedText {
  readonly text: string;
  readonly tag: string;
}

/** Clients cache a response and revalidate it, which is cheap if the content is unchanged. */
// undici 7.30 stores this form, but not `private, no-cache`, if the request has the header Authorization.
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
 * @param make makes the text, and its entity tag unless the tag is that of the text; called once per result and media
 *   type
 */
export const sharedText = <Result>(
  snapshot: AsOf<Result>,
  type: string,
  make: (result: Result) => string | TaggedText | Promise<string | TaggedText>,
): Promise<TaggedText> => {
  const texts = (snapshot.texts ??= {});
  return (texts[type] ??= (async () => {
    const text = await make(snapshot.result);
    if (typeof text !== 'string') return text;
    const content = snapshot.requestInstants?.reduce((rest, at) => rest.replaceAll(formatInstant(at), ''), text);
    return { text, tag: entityTag(content ?? text) };
  })());
};

/** A result as the text of a response. */
interface SnapshotText extends TaggedText, Pick<AsOf<never>, 'asOf' | 'position' | 'knownAt'> {
  readonly type: string;
}

/**
 * Sends a result with its `X-As-Of`, `ETag` and `Consistency-Token`, or a 304 if the client has the same content. A result
 * about the past has the header `Known-At` instead of a token.
 */
export const sendSnapshot = async (
  { type, text, tag, asOf, position, knownAt }: SnapshotText,
  tokens: ConsistencyTokens,
  reply: FastifyReply,
): Promise<string | undefined> => {
  void reply.headers({ 'x-as-of': formatInstant(asOf), 'cache-control': REVALIDATED, etag: tag });
  if (knownAt === undefined) await tokens.add(reply, position);
  else void reply.header('known-at', formatInstant(knownAt));
  if (matchesEntityTag(reply.request.headers['if-none-match'], tag)) {
    void reply.code(304);
    return undefined;
  }
  void reply.type(type);
  return text;
};

/** The header `X-As-Of`. */
export const AS_OF = {
  description:
    'The response includes everything that `POST /v2/events` acknowledged before this instant (ISO 8601, UTC).',
  required: true,
  schema: { type: 'string', format: 'date-time' },
} as const;

/** The headers of a response with data of one snapshot. */
export const SNAPSHOT_HEADERS = {
  'X-As-Of': AS_OF,
  ETag: {
    description:
      'A weak tag of the content. Send this tag as `If-None-Match` to get a 304 while the content is unchanged.',
    required: true,
    schema: { type: 'string' },
  },
} as const;

/** The headers of a response that may be about the past, in which case it has no `Consistency-Token`. */
export const PAST_HEADERS = {
  ...SNAPSHOT_HEADERS,
  'Known-At': {
    description: 'The instant of the state that the response is about (ISO 8601, UTC), unless it is about the present.',
    schema: { type: 'string', format: 'date-time' },
  },
} as const;

/**
 * Documents the responses of a route that returns data of one snapshot.
 * @param type the class of the JSON response, or the name of its schema; undefined if the route returns no JSON
 * @param others other media types, each with an example
 * @param unknown the resource named in the 404; null if the route has no 404
 * @param headers the headers of the responses
 */
export const ApiSnapshot = (
  type: Type | string | undefined,
  others: Readonly<Record<string, string>> = {},
  unknown: string | null = 'brand',
  headers: typeof SNAPSHOT_HEADERS | typeof PAST_HEADERS = SNAPSHOT_HEADERS,
): MethodDecorator =>
  applyDecorators(
    ...(typeof type === 'function' ? [ApiExtraModels(type)] : []),
    ApiHeader({
      name: 'If-None-Match',
      required: false,
      description: 'One or more `ETag`s of responses that the client has, or `*`.',
      schema: { type: 'string' },
    }),
    ApiOkResponse({
      description: 'All data is from one snapshot.',
      headers,
      content: {
        ...(type !== undefined && { 'application/json': { schema: { $ref: getSchemaPath(type) } } }),
        ...Object.fromEntries(
          Object.entries(others).map(([name, example]) => [name, { schema: { type: 'string' as const }, example }]),
        ),
      },
    }),
    ApiResponse({ status: 304, description: 'The content is unchanged.', headers }),
    ...(unknown === null ? [] : [ApiFailure(404, `The organization has no such ${unknown}.`)]),
  );
