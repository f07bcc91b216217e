import type { FastifyReply, FastifyRequest } from 'fastify';
import { Forbidden, Unauthorized } from '../../errors.js';
import type { Requirement } from './access.js';
import { sendError, TooManyRequests, UriTooLong } from '../errors/error-response.js';
import type { ApiKeyVerifier } from './api-key-verifier.js';
import { MAX_URI_LENGTH } from '../limits.js';
import type { RateLimit } from './rate-limit.js';
import type { Unauthenticated } from './unauthenticated.js';

/** Lets a request on to a route, or says why not, before a byte of its body is read. */
export const checkAccess = (
  access: Requirement,
  keys: ApiKeyVerifier,
  limit: RateLimit,
  unauthenticated: Unauthenticated,
): ((request: FastifyRequest, reply: FastifyReply, done: () => void) => void) => {
  const { scope, organization = true } = access;
  return (request, reply, done) => {
    try {
      if (request.raw.url!.length > MAX_URI_LENGTH) throw new UriTooLong();
      const key = request.headers['x-api-key'];
      const caller = typeof key === 'string' ? keys.verify(key) : undefined;
      if (caller === undefined || (organization && caller.organization === undefined)) throw new Unauthorized();
      // Before it may be refused: the access log names whose request it was.
      request.caller = caller;
      const allowance = limit.take(caller.keyId);
      if (allowance !== undefined) {
        void reply.header('ratelimit-limit', allowance.limit);
        void reply.header('ratelimit-remaining', allowance.remaining);
        void reply.header('ratelimit-reset', allowance.resetSeconds);
        if (allowance.exceeded) throw new TooManyRequests(allowance.resetSeconds);
      }
      if (scope !== 'any' && !caller.scopes.includes(scope)) throw new Forbidden(`The key lacks the scope ${scope}`);
      request.access = access;
      request.answer = reply.raw;
    } catch (error) {
      const tooMany = error instanceof Unauthorized ? unauthenticated.take(request) : undefined;
      sendError(tooMany ?? error, request, reply);
      return;
    }
    done();
  };
};
