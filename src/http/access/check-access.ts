import type { FastifyRequest, FastifyReply } from 'fastify';
import { LRUCache } from 'lru-cache';
import { Readable } from 'node:stream';
import { TooManyRequests, Unauthorized, Forbidden, UriTooLong } from '../../errors.js';
import { clientOf } from './client-address.js';
import { type ApiKeyVerifier, type Caller, ownerOf, strangerOf } from './caller.js';
import { isTaxii } from '../taxii.js';
import { isKeyInQuery, keyOf } from './request-key.js';
import { RateLimit } from '../../flow/budgets.js';
import { Bag } from '../../flow/bag.js';
import { sendError } from '../errors/error-response.js';
import type { Requirement } from './access.js';
import { MAX_URI_LENGTH } from '../byte-limits.js';
import type { TimeSlices } from '../../flow/turns.js';
import { limitBySetting } from '../../limits.js';

/** The most addresses in memory, about 4 MB. Beyond that, the least recently seen address is dropped. */
const MAX_ADDRESSES = 20_000;

const MESSAGE =
  'Too many requests from this address without a valid key; retry after the number of seconds in Retry-After';

const PER_KEY = 'RATE_LIMIT_PER_MINUTE';
limitBySetting('requests with a key', PER_KEY, 'requests', 'key and minute', '429');
limitBySetting('requests for local lists with the same key', PER_KEY, 'requests', 'address and minute', '429');
const PER_ADDRESS = 'UNAUTHENTICATED_RATE_LIMIT_PER_MINUTE';
limitBySetting('requests without a valid key', PER_ADDRESS, 'requests', 'address and minute', '429');

const perClient = (perMinute: number): RateLimit =>
  new RateLimit(perMinute, undefined, new LRUCache<string, number>({ max: MAX_ADDRESSES }));

/** Whether strangers may have the key: a key for local lists only may be in every copy of a program. */
const isPublishable = ({ scopes }: Caller): boolean => scopes.every((each) => each === 'lists');

/** Limits requests with a valid key. */
export class KeyRateLimit {
  private readonly ofKeys: RateLimit;
  private readonly ofClients: RateLimit;

  /** @param perMinute requests per minute for each key, or for each address of a published key; 0 means no limit */
  constructor(perMinute: number) {
    this.ofKeys = new RateLimit(perMinute);
    this.ofClients = perClient(perMinute);
  }

  /** Counts a request. @param isPublished whether strangers have the key, who must not use up the requests of others */
  take(caller: Caller, request: FastifyRequest, isPublished: boolean): ReturnType<RateLimit['take']> {
    // The address is read only if it counts: behind proxies, it is looked up in the headers.
    return isPublished ? this.ofClients.take(strangerOf(caller, request.ip)) : this.ofKeys.take(caller.keyId);
  }
}

/**
 * Limits requests without a valid key by client address. Requests with a valid key are limited by the key, so that other
 * clients with the same address cannot get them rejected.
 */
export class AddressRateLimit {
  private readonly limit: RateLimit;

  /** @param perMinute requests per minute for each IPv4 address or IPv6 /64 network; 0 means no limit */
  constructor(
    perMinute: number,
    private readonly keys: ApiKeyVerifier,
  ) {
    this.limit = perClient(perMinute);
  }

  /** Counts a request without a valid key. Returns an error if the address has sent too many requests. */
  take(request: FastifyRequest): TooManyRequests | undefined {
    const allowance = this.limit.take(clientOf(request.ip));
    return allowance?.exceeded ? new TooManyRequests(allowance.resetSeconds, MESSAGE) : undefined;
  }

  /**
   * Counts a request to a path without `@Access`: a request with a valid key counts for its key, any other one as `take`
   * does.
   */
  takeWithoutAccess(request: FastifyRequest, ofKeys: KeyRateLimit): TooManyRequests | undefined {
    const caller = this.callerOf(request);
    if (caller === undefined) return this.take(request);
    const allowance = ofKeys.take(caller, request, isPublishable(caller));
    return allowance?.exceeded ? new TooManyRequests(allowance.resetSeconds) : undefined;
  }

  private callerOf(request: FastifyRequest): Caller | undefined {
    const key = keyOf(request);
    try {
      return key === undefined ? undefined : this.keys.verify(key);
    } catch {
      // The keys have not been read yet.
      return undefined;
    }
  }
}

declare module 'fastify' {
  interface FastifyReply {
    /** The index of the reply in its bag of `Revocations`. */
    bagIndex: number;
  }
}

const READS: readonly string[] = ['GET', 'HEAD'];
/** A read with a body is a POST. */
const isRead = ({ method, access }: FastifyRequest): boolean =>
  READS.includes(method) || access?.scope === 'read' || access?.onlyReads === true;

/**
 * Ends the requests of a key that is revoked: a request that waits for new data, for a token or for its turn gets a 401,
 * and the connection of a response that is being streamed is closed. A write whose body has arrived is not ended,
 * because it may have been stored, which a 401 would deny.
 */
export class Revocations {
  /** The replies that are not sent yet. */
  private readonly pending = new Bag<FastifyReply>();
  private readonly streaming = new Bag<FastifyReply>();

  constructor(keys: ApiKeyVerifier) {
    keys.onRevoked((keyId) => {
      for (const { request, raw } of this.streaming) if (request.caller?.keyId === keyId) raw.destroy();
      for (const reply of this.pending) {
        const { request } = reply;
        if (request.caller?.keyId === keyId && (isRead(request) || !request.raw.complete))
          sendError(new Unauthorized(), request, reply);
      }
    });
  }

  /** Called when the key of a request has been verified. */
  add(reply: FastifyReply): void {
    this.pending.add(reply);
  }

  /** Called when the response of a request is sent. */
  sending(reply: FastifyReply, payload: unknown): void {
    if (this.pending.delete(reply) && payload instanceof Readable) this.streaming.add(reply);
  }

  /** Called when a request has ended. */
  remove(reply: FastifyReply): void {
    if (!this.pending.delete(reply)) this.streaming.delete(reply);
  }
}

const hasScope = (caller: Caller, scope: Requirement['scope']): boolean =>
  scope === 'any' ? !isPublishable(caller) : caller.scopes.includes(scope);

const SEND_KEY = 'Send the key in the header X-API-KEY';
const HEADER_LINE = /^\s*x-api-key\s*:/i;

/**
 * Returns what is wrong with the header or the form of the key of a request. Whether a key exists is not said: a key that
 * is unknown, revoked or expired has no issue.
 */
const keyIssues = (request: FastifyRequest, keys: ApiKeyVerifier): string[] => {
  const key = keyOf(request);
  if (key === undefined || key === '') {
    if (isTaxii(request.url)) return [`${SEND_KEY}, or in Authorization as Bearer, Token or Basic`];
    return [request.headers.authorization === undefined ? SEND_KEY : `${SEND_KEY} instead of Authorization`];
  }
  if (HEADER_LINE.test(key)) return ['The value begins with X-API-KEY:; send only the key as the value of the header'];
  const issue = keys.formIssueOf(key);
  return issue === undefined ? [] : [issue];
};

const SECRET_KEY =
  'Only a key with no scope but lists may be in the query, where logs show it; send this key in the header X-API-KEY, or replace it';

/** Only the owner of a key without an organization can get this answer. */
const NO_ORGANIZATION =
  'This key belongs to no organization, so it can only send events or read local lists; use a key that was issued for an organization';

/** Checks the key, the rate limit and the scope of a request before its body is read. The callers share time slices. */
export const checkAccess = (
  access: Requirement,
  keys: ApiKeyVerifier,
  limit: KeyRateLimit,
  addressLimit: AddressRateLimit,
  slices: TimeSlices,
  revocations: Revocations,
): ((request: FastifyRequest, reply: FastifyReply, done: () => void) => void) => {
  const { scope, organization = true, refused, isPublic = false, hasPublishedKeys = false } = access;
  const check = (caller: Caller | undefined, request: FastifyRequest, reply: FastifyReply): void => {
    if (caller === undefined) {
      if (!isPublic) throw new Unauthorized(keyIssues(request, keys));
      const tooMany = addressLimit.take(request);
      if (tooMany !== undefined) throw tooMany;
      request.access = access;
      request.rawResponse = reply.raw;
      return;
    }
    if (organization && caller.organization === undefined) throw new Unauthorized([NO_ORGANIZATION]);
    if (isKeyInQuery(request) && !isPublishable(caller)) throw new Unauthorized([SECRET_KEY]);
    // The caller is set before a possible rejection, because the access log names the key.
    request.caller = caller;
    const allowance = limit.take(caller, request, hasPublishedKeys);
    if (allowance !== undefined) {
      void reply.header('ratelimit-limit', allowance.limit);
      void reply.header('ratelimit-remaining', allowance.remaining);
      void reply.header('ratelimit-reset', allowance.resetSeconds);
    }
    if (!isPublic && !hasScope(caller, scope))
      throw new Forbidden(scope === 'any' ? 'The key may only read local lists' : `The key lacks the scope ${scope}`);
    if (allowance?.exceeded) throw new TooManyRequests(allowance.resetSeconds);
    if (refused !== undefined) throw new Forbidden(refused);
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
      const key = keyOf(request);
      if (key !== undefined) {
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
