import type { FastifyReply, FastifyRequest } from 'fastify';
import { Forbidden, TooManyRequests, Unauthorized, UriTooLong } from '../../errors.js';
import type { Requirement } from './access.js';
import { sendError } from '../errors/error-response.js';
import type { ApiKeyVerifier } from './api-key-verifier.js';
import { MAX_URI_LENGTH } from '../byte-limits.js';
import type { RateLimit } from '../../flow/rate-limit.js';
import type { TimeSlices } from '../../flow/time-slices.js';
import { type Caller, ownerOf } from './caller.js';
import type { AddressRateLimit } from './address-rate-limit.js';
import type { Revocations } from './revocations.js';

/** Checks the key, the rate limit and the scope of a request before its body is read. The callers share time slices. */
export const checkAccess = (
  access: Requirement,
  keys: ApiKeyVerifier,
  limit: RateLimit,
  addressLimit: AddressRateLimit,
  slices: TimeSlices,
  revocations: Revocations,
): ((request: FastifyRequest, reply: FastifyReply, done: () => void) => void) => {
  const { scope, organization = true } = access;
  const check = (caller: Caller | undefined, request: FastifyRequest, reply: FastifyReply): void => {
    if (caller === undefined || (organization && caller.organization === undefined)) throw new Unauthorized();
    // The caller is set before a possible rejection, because the access log names the key.
    request.caller = caller;
    const allowance = limit.take(caller.keyId);
    if (allowance !== undefined) {
      void reply.header('ratelimit-limit', allowance.limit);
      void reply.header('ratelimit-remaining', allowance.remaining);
      void reply.header('ratelimit-reset', allowance.resetSeconds);
    }
    if (scope !== 'any' && !caller.scopes.includes(scope)) throw new Forbidden(`The key lacks the scope ${scope}`);
    if (allowance?.exceeded) throw new TooManyRequests(allowance.resetSeconds);
    request.access = access;
    request.rawResponse = reply.raw;
    revocations.add(reply);
  };
  const reject = (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const tooMany = error instanceof Unauthorized ? addressLimit.take(request) : undefined;
    sendError(tooMany ?? error, request, reply);
  };
  const proceed = (caller: Caller | undefined, request: FastifyRequest, reply: FastifyReply, done: () => void): void =>
    slices.begin(ownerOf(caller), () => {
      // The client has closed the connection in the meantime.
      if (request.raw.socket.destroyed) return;
      try {
        check(caller, request, reply);
      } catch (error) {
        return reject(error, request, reply);
      }
      done();
    });
  return (request, reply, done) => {
    let caller: Caller | undefined;
    try {
      if (request.raw.url!.length > MAX_URI_LENGTH) throw new UriTooLong();
      const key = request.headers['x-api-key'];
      if (typeof key === 'string') {
        caller = keys.verify(key);
        const later = caller === undefined ? keys.verifyAfterRead(key) : undefined;
        if (later !== undefined) return void later.then((found) => proceed(found, request, reply, done));
      }
    } catch (error) {
      return reject(error, request, reply);
    }
    proceed(caller, request, reply, done);
  };
};
