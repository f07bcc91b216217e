import type { ServerResponse } from 'node:http';
import { applyDecorators } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiSecurity } from '@nestjs/swagger';
import type { Scope } from '../../events/api-keys.js';
import { ApiFailure } from '../errors/api-failure.js';
import type { JsonBounds } from '../body/json-bounds.js';
import { BODY_LIMIT } from '../limits.js';

/** What a route asks of its caller, checked before the body is read. */
export interface Requirement {
  /** The key must have this scope (403); `any` is content with whichever it has. */
  readonly scope: Scope | 'any';
  /** Whether the key must name an organization (401). Default true. */
  readonly organization?: boolean;
  /** The largest body, in bytes (413). Default 65,536. */
  readonly bodyLimit?: number;
  /**
   * The body arrives as the `Buffer` that was sent, unparsed. Taken as `application/json`,
   * `application/cloudevents+json` and `application/cloudevents-batch+json`; what else is sent is a 415. The media type
   * is in the request's `content-type` header, an absent body is `undefined`.
   */
  readonly rawBody?: boolean;
  /** How large the structure of the JSON may be (400), for bodies of megabytes. Default: as the bytes allow. */
  readonly json?: JsonBounds;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Requirement;
  }
  interface FastifyRequest {
    /** What the route asks of its caller; set once that has been checked, as the next one. */
    access: Requirement | null;
    answer: ServerResponse | null;
  }
}

/** What every route with `@Access` may answer, in the same words. */
export const SHARED_FAILURES: Readonly<Record<number, string>> = {
  401: 'The key is missing, unknown, malformed, revoked or expired, or names no organization.',
  414: 'The address is longer than 8,192 bytes.',
  429: 'Too many requests with this key, or over 16 MiB of bodies at once; `Retry-After` says when to try again.',
  500: 'A fault of the service. Its log has the details under the `X-Request-Id` of the answer.',
  503: 'The log or the database did not answer; trying again after `Retry-After` seconds is safe.',
};

/**
 * Who may call the route. Every route under `/v2` carries it; one that does not stops the start.
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
    ApiFailure(400, 'The request is not what it must be; `issues` says where.'),
    ...(requirement.scope === 'any'
      ? []
      : [ApiFailure(403, `The key lacks the scope \`${requirement.scope}\`, or the organization may not do this.`)]),
    // Taken out again where a route takes no body.
    ApiFailure(413, `The body is larger than ${(requirement.bodyLimit ?? BODY_LIMIT).toLocaleString('en')} bytes.`),
    ApiFailure(415, 'The body is of another media type, or packed in another way, than the route takes.'),
  );
