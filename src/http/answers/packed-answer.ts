import { gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { takesGzip } from '../accept.js';

type OnSend = (
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  done: (error?: Error | null, payload?: unknown) => void,
) => void;

/** In UTF-16 units. Smaller answers fit one packet anyway. */
const WORTH_PACKING = 1024;
/** Almost as small as the default level, in half the time. */
const LEVEL = 4;
/** Node's four pool threads also serve files and DNS lookups; beyond this, answers are sent uncompressed. */
const MAX_AT_ONCE = 2;

/** Compresses text answers with gzip, in Node's thread pool, for clients that accept it. */
export const createPacker = (): OnSend => {
  let underWay = 0;
  return (request, reply, payload, done) => {
    if (typeof payload !== 'string' || payload.length < WORTH_PACKING) return done();
    const vary = reply.getHeader('vary');
    void reply.header('vary', vary === undefined ? 'Accept-Encoding' : `${vary}, Accept-Encoding`);
    const accepted = request.headers['accept-encoding'];
    if (accepted === undefined || request.method === 'HEAD' || underWay >= MAX_AT_ONCE || !takesGzip(accepted))
      return done();
    underWay += 1;
    gzip(payload, { level: LEVEL }, (error, packed) => {
      underWay -= 1;
      if (error !== null) return done(null, payload);
      void reply.header('content-encoding', 'gzip');
      done(null, packed);
    });
  };
};
