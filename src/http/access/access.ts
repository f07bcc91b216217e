import type { ServerResponse } from 'node:http';
import { applyDecorators } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiHeader, ApiSecurity } from '@nestjs/swagger';
import type { Scope } from '../../events/types/api-keys.js';
import { ApiFailure } from '../errors/api-failure.js';
import type { ProjectionName } from '../../read-models/checkpoints/checkpoints.js';
import type { JsonBounds } from '../../json/bounds.js';
import { BODY_LIMIT } from '../byte-limits.js';

/** What a route requires of its caller; checked before the body is read. */
export interface Requirement {
  /** The scope the key must have (403); `any`: whichever it has. */
  readonly scope: Scope | 'any';
  /** Whether the key must name an organization (401). Default true. */
  readonly organization?: boolean;
  /** The largest body, in bytes (413). Default 65,536. */
  readonly bodyLimit?: number;
  /**
   * Hands over the body as the `Buffer` that was sent, unparsed; `undefined` if empty. Accepts `application/json`,
   * `application/cloudevents+json` and `application/cloudevents-batch+json`; anything else is a 415. The media type is
   * in the request's `content-type` header.
   */
  readonly rawBody?: boolean;
  /** Projections whose read models the answer comes from: a request with a token waits for their checkpoints. */
  readonly reads?: readonly ProjectionName[];
  /**
   * Whether the response's token names these checkpoints as they were before the answer was read from the primary, for
   * routes whose handlers do not know the exact position.
   */
  readonly namesCheckpoint?: boolean;
  /** Bounds on the structure of the JSON (400), for bodies of megabytes. Default: none beyond the bytes. */
  readonly json?: JsonBounds;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Requirement;
  }
  interface FastifyRequest {
    /** What the route requires of its caller; set once it has been checked, like `caller`. */
    access: Requirement | null;
    answer: ServerResponse | null;
    /** The position that the request's `Consistency-Token` names. */
    minPosition: bigint | null;
  }
}

/** Errors that any route with `@Access` may answer, worded the same everywhere. */
export const SHARED_FAILURES: Readonly<Record<number, string>> = {
  401: 'The key is missing, unknown, malformed, revoked or expired, or belongs to no organization.',
  414: 'The URL exceeds 8,192 bytes.',
  410: 'The `Consistency-Token` is from another log, or from a state that was lost. Repeat the request without it.',
  429: 'Too many requests with this key, or more than 16 MiB of request bodies or of unread responses of the organization at once. Retry after `Retry-After` seconds.',
  500: 'An internal error. The log has the details under `X-Request-Id`.',
  503: 'The log or the database did not respond; it is safe to retry after `Retry-After` seconds.',
};

/**
 * Declares who may call the route. A route under `/v2` without it stops the start.
 *
 *     @Get()
 *     @Access({ scope: 'read' })
 *     get(@Organization() organization: string) …
 */
export const Access = (requirement: Requirement): MethodDecorator =>
  applyDecorators(
    RouteConfig({ access: requirement }),
    ApiSecurity('key'),
    ...Object.entries(SHARED_FAILURES).map(([status, description]) => ApiFailure(Number(status), description)),
    ApiHeader({
      name: 'Consistency-Token',
      required: false,
      description:
        'The `Consistency-Token` of an earlier response. The response then includes everything up to that state. ' +
        '`Prefer: wait=SECONDS` (0 to 10, default 2) sets how long to wait for that state.',
      schema: { type: 'string', minLength: 1, maxLength: 128 },
    }),
    ApiFailure(400, 'The request is invalid; `issues` lists the problems.'),
    ...(requirement.scope === 'any'
      ? []
      : [
          ApiFailure(
            403,
            `The key lacks the scope \`${requirement.scope}\`, or the organization is not allowed to do this.`,
          ),
        ]),
    // Removed from the description of routes without a body.
    ApiFailure(413, `The body is larger than ${(requirement.bodyLimit ?? BODY_LIMIT).toLocaleString('en')} bytes.`),
    ApiFailure(415, 'The route does not accept this media type or content encoding.'),
  );
