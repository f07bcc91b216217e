import { gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { acceptsGzip } from '../accept.js';

type OnSend = (
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  done: (error?: Error | null, payload?: unknown) => void,
) => void;

/** The smallest response that is compressed, in UTF-16 units. Smaller responses fit into one packet uncompressed. */
const MIN_LENGTH = 1024;
/** The result is almost as small as with the default level, in half the time. */
const LEVEL = 4;
/** Node's four pool threads also serve files and DNS lookups. Beyond this limit, responses are sent uncompressed. */
const MAX_CONCURRENT = 2;

/** Compresses text responses with gzip, in Node's thread pool, for clients that accept gzip. */
export const createCompressor = (): OnSend => {
  let running = 0;
  return (request, reply, payload, done) => {
    if (typeof payload !== 'string' || payload.length < MIN_LENGTH) return done();
    const vary = reply.getHeader('vary');
    void reply.header('vary', vary === undefined ? 'Accept-Encoding' : `${vary}, Accept-Encoding`);
    const accepted = request.headers['accept-encoding'];
    if (accepted === undefined || request.method === 'HEAD' || running >= MAX_CONCURRENT || !acceptsGzip(accepted))
      return done();
    running += 1;
    gzip(payload, { level: LEVEL }, (error, compressed) => {
      running -= 1;
      if (error !== null) return done(null, payload);
      void reply.header('content-encoding', 'gzip');
      done(null, compressed);
    });
  };
};
