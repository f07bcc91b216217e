import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { acceptsGzip } from '../responses/accept.js';
import { entityTag, matchesEntityTag } from '../responses/send-snapshot.js';

/**
 * The headers of a page that keeps the API key of its user. The page cannot be framed, sends no `Referer` header, and
 * shares no browsing context with a page of another site, regardless of which page opened the other page.
 * @param policy the Content-Security-Policy
 */
export const pageHeaders = (policy: string): Readonly<Record<string, string>> => ({
  'content-security-policy': policy,
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
});

const compress = promisify(gzip);

/** A response that stays the same while the process runs, kept in memory as the bytes to send. */
export interface StaticResponse {
  readonly type: string;
  readonly body: Buffer;
  readonly gzipped: Buffer;
  /** A weak entity tag, because both encodings share it. */
  readonly tag: string;
}

export const createStaticResponse = async (type: string, content: string | Buffer): Promise<StaticResponse> => {
  const body = Buffer.from(content);
  return { type, body, gzipped: await compress(body), tag: entityTag(body) };
};

/** Sends the response, compressed if the client accepts gzip, or a 304 if the client already has it. */
export const sendStaticResponse = (
  { type, body, gzipped, tag }: StaticResponse,
  request: FastifyRequest,
  reply: FastifyReply,
  caching = 'no-cache',
) => {
  const { 'accept-encoding': encodings = '', 'if-none-match': known } = request.headers;
  void reply.headers({ 'cache-control': caching, etag: tag, vary: 'Accept-Encoding' });
  if (matchesEntityTag(known, tag)) return reply.code(304).send();
  void reply.type(type);
  if (!acceptsGzip(String(encodings))) return reply.send(body);
  return reply.header('content-encoding', 'gzip').send(gzipped);
};
