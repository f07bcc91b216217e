import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Unauthorized } from '../../errors.js';
import type { Scope } from '../../events/types/organizations.js';
import { currentTraceparent } from '../request-span.js';
import { clientOf } from './client-address.js';

/** The caller of a request, identified by its API key. */
export interface Caller {
  readonly keyId: string;
  /** Undefined if the key belongs to no organization. */
  readonly organization: string | undefined;
  readonly scopes: readonly Scope[];
  /** The name that the operator gave the key. */
  readonly name?: string | undefined;
  /** ms; undefined if the key does not expire. */
  readonly expiresAt?: number | undefined;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller is set on routes with `@Access` before the body is read. */
    caller: Caller | null;
  }
}

/** Returns the owner that a request is charged to: its organization, or its key. Requests without a valid key share an owner. */
export const ownerOf = (caller: Caller | null | undefined): string => caller?.organization ?? caller?.keyId ?? '';

/**
 * Returns whom a limit counts if strangers share a key, such as the copies of a program: the key at one address. Without a
 * key, the address.
 */
export const strangerOf = (caller: Caller | null, ip: string): string =>
  caller === null ? clientOf(ip) : `${caller.keyId} ${clientOf(ip)}`;

const callerOf = (context: ExecutionContext): Caller => {
  const { caller } = context.switchToHttp().getRequest<FastifyRequest>();
  // Only routes without `@Access` have no caller here, and must be rejected.
  if (caller === null) throw new Unauthorized();
  return caller;
};

/** Injects the caller. For routes with `@Access`. */
export const CurrentCaller = createParamDecorator((_: unknown, context: ExecutionContext): Caller => callerOf(context));

/** Injects the slug of the caller's organization. For routes whose `@Access` requires an organization (the default). */
export const Organization = createParamDecorator((_: unknown, context: ExecutionContext): string => {
  const { organization } = callerOf(context);
  if (organization === undefined) throw new Unauthorized();
  return organization;
});

/**
 * Verifies API keys. The verifier is called for every request before the body is read, so an implementation must answer
 * from memory.
 */
export abstract class ApiKeyVerifier {
  /**
   * @returns the caller; undefined if the key is unknown, malformed, revoked or expired
   * @throws Unavailable while the keys have not been read yet
   */
  abstract verify(key: string): Caller | undefined;

  /** Returns why a text cannot be a key, from the text alone; undefined if it has the form of a key. */
  abstract formIssueOf(text: string): string | undefined;

  /**
   * Verifies a key that `verify` does not know, after the next read of the key events, because the key may have just
   * been issued by another process. A malformed key is not waited for.
   * @returns the caller; undefined as in `verify`
   */
  abstract verifyAfterRead(key: string): Promise<Caller | undefined> | undefined;

  /** Whether a key of this organization has been issued and not revoked. */
  abstract hasKeyOf(organization: string): boolean;

  /** Calls `listener` with the id of each key that has been valid and has been revoked or lost. */
  abstract onRevoked(listener: (keyId: string) => void): void;
}

/** The request that caused an event, as recorded in the metadata of the event. */
export interface Origin {
  readonly keyId?: string;
  /** W3C Trace Context: the span of the request if this process traces it, otherwise the header as sent. */
  readonly traceparent?: string;
}

export const originOf = (request: Pick<FastifyRequest, 'caller' | 'headers' | 'span'>): Origin => {
  const { caller } = request;
  const traceparent = currentTraceparent(request);
  return { ...(caller && { keyId: caller.keyId }), ...(traceparent !== undefined && { traceparent }) };
};

/** For routes with `@Access`. */
export const RequestOrigin = createParamDecorator((_: unknown, context: ExecutionContext): Origin =>
  originOf(context.switchToHttp().getRequest<FastifyRequest>()),
);
