import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { acceptsGzip } from '../accept.js';
import { entityTag, matchesEntityTag } from '../responses/entity-tag.js';

const pack = promisify(gzip);

/** An answer that stays the same while the process runs, kept as the bytes that are sent. */
export interface KeptAnswer {
  readonly type: string;
  readonly body: Buffer;
  readonly packed: Buffer;
  /** Weak, because both encodings share it. */
  readonly tag: string;
}

export const keepAnswer = async (type: string, content: string | Buffer): Promise<KeptAnswer> => {
  const body = Buffer.from(content);
  return { type, body, packed: await pack(body), tag: entityTag(body) };
};

/** Makes a value on first use; concurrent callers share one attempt, and after a failure the next call tries again. */
export const onceMade = <T>(make: () => Promise<T>): (() => Promise<T>) => {
  let made: Promise<T> | undefined;
  return () =>
    (made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    }));
};

/** Sends it, compressed if the client accepts that, or a 304 if the client has it. */
export const sendKept = (
  { type, body, packed, tag }: KeptAnswer,
  request: FastifyRequest,
  reply: FastifyReply,
  caching = 'no-cache',
) => {
  const { 'accept-encoding': encodings = '', 'if-none-match': known } = request.headers;
  void reply.headers({ 'cache-control': caching, etag: tag, vary: 'Accept-Encoding' });
  if (matchesEntityTag(known, tag)) return reply.code(304).send();
  void reply.type(type);
  if (!acceptsGzip(String(encodings))) return reply.send(body);
  return reply.header('content-encoding', 'gzip').send(packed);
};
