import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Unauthorized } from '../../errors.js';
import type { Scope } from '../../events/api-keys.js';

/** Who asks: what the key of a request stands for. */
export interface Caller {
  readonly keyId: string;
  /** Absent: the key belongs to no organization. */
  readonly organization: string | undefined;
  readonly scopes: readonly Scope[];
  /** What the operator called the key. */
  readonly name?: string | undefined;
  /** ms; absent: it does not expire. */
  readonly expiresAt?: number | undefined;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks, on a route with `@Access`; set before the body is read. */
    caller: Caller | null;
  }
}

/** In whose turn a request is worked on: its organization's. All who have shown no good key share one. */
export const laneOf = (caller: Caller | undefined): string => caller?.organization ?? caller?.keyId ?? '';

const callerOf = (context: ExecutionContext): Caller => {
  const { caller } = context.switchToHttp().getRequest<FastifyRequest>();
  // Only a route without @Access comes here without a caller; it must not be answered.
  if (caller === null) throw new Unauthorized();
  return caller;
};

/** Who asks. For routes with `@Access`. */
export const CurrentCaller = createParamDecorator((_: unknown, context: ExecutionContext): Caller => callerOf(context));

/** The slug of the organization of the key. For routes whose `@Access` demands one, which is the default. */
export const Organization = createParamDecorator((_: unknown, context: ExecutionContext): string => {
  const { organization } = callerOf(context);
  if (organization === undefined) throw new Unauthorized();
  return organization;
});
