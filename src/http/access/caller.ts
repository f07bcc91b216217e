import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Unauthorized } from '../../errors.js';
import type { Scope } from '../../events/types/api-keys.js';

/** Who is calling, according to the request's key. */
export interface Caller {
  readonly keyId: string;
  /** Absent: the key belongs to no organization. */
  readonly organization: string | undefined;
  readonly scopes: readonly Scope[];
  /** The name the operator gave the key. */
  readonly name?: string | undefined;
  /** ms; absent: it does not expire. */
  readonly expiresAt?: number | undefined;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set on routes with `@Access` before the body is read. */
    caller: Caller | null;
  }
}

/** The owner of what a request costs: its organization. Requests without a valid key share one. */
export const ownerOf = (caller: Caller | undefined): string => caller?.organization ?? caller?.keyId ?? '';

const callerOf = (context: ExecutionContext): Caller => {
  const { caller } = context.switchToHttp().getRequest<FastifyRequest>();
  // Only a route without `@Access` gets here without a caller; it must not be answered.
  if (caller === null) throw new Unauthorized();
  return caller;
};

/** The caller. For routes with `@Access`. */
export const CurrentCaller = createParamDecorator((_: unknown, context: ExecutionContext): Caller => callerOf(context));

/** The slug of the key's organization. For routes whose `@Access` requires one, which is the default. */
export const Organization = createParamDecorator((_: unknown, context: ExecutionContext): string => {
  const { organization } = callerOf(context);
  if (organization === undefined) throw new Unauthorized();
  return organization;
});
