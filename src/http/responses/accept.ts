import { gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { limit } from '../../limits.js';

export interface Accepted {
  /** Lower case, without parameters. */
  readonly type: string;
  readonly weight: number;
  /** The parameter `version`, without quotes. */
  readonly version: string | undefined;
}

export const readAccepted = (range: string): Accepted => {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
  const valueOf = (name: string): string | undefined =>
    parameters.find((parameter) => parameter.startsWith(`${name}=`))?.slice(name.length + 1);
  const weight = Number(valueOf('q') ?? 1);
  return { type, weight: weight >= 0 && weight <= 1 ? weight : 0, version: valueOf('version')?.replaceAll('"', '') };
};

/** Returns the weight of a media type, which is the weight of the most specific range that matches. */
const weightIn = (type: string, accepted: readonly Accepted[]): number => {
  const ranges = [type, `${type.slice(0, type.indexOf('/'))}/*`, '*/*'];
  for (const range of ranges) {
    const found = accepted.find((one) => one.type === range);
    if (found) return found.weight;
  }
  return 0;
};

/** Returns the weight of a media type: 0 if the client does not accept it. @param accept the header `Accept` */
export const weightOf = (type: string, accept: string): number => weightIn(type, accept.split(',').map(readAccepted));

/**
 * Returns the offered media type that the client prefers (RFC 9110, 12.5.1). If the client prefers several types
 * equally, sends no `Accept` header or accepts none of the types, returns the first type: a response in another type is
 * better than a 406.
 * @param accept the header `Accept` of the request
 * @param offered media types without parameters
 */
export const preferredType = (accept: string | undefined, offered: readonly [string, ...string[]]): string => {
  if (accept === undefined) return offered[0];
  const accepted = accept.split(',').map(readAccepted);
  const weights = offered.map((type) => weightIn(type, accepted));
  return offered[weights.indexOf(Math.max(...weights))]!;
};

/** @param encodings the header `Accept-Encoding` of the request */
export const acceptsGzip = (encodings: string): boolean =>
  encodings.split(',').some((encoding) => {
    const { type, weight } = readAccepted(encoding);
    return type === 'gzip' && weight > 0;
  });

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
const MAX_CONCURRENT = limit('compression of responses', 2, 'responses', 'process', 'sent uncompressed');

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
