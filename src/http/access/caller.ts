import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Unauthorized } from '../../errors.js';
import type { Scope } from '../../events/types/api-keys.js';

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
export const ownerOf = (caller: Caller | undefined): string => caller?.organization ?? caller?.keyId ?? '';

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
