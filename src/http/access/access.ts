import type { ServerResponse } from 'node:http';
import { applyDecorators } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiResponse, ApiSecurity } from '@nestjs/swagger';
import type { Scope } from '../../events/api-keys.js';
import { ErrorBody } from '../errors/error-body.dto.js';
import type { JsonBounds } from '../body/json-bounds.js';

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

const failure = (status: number, description: string): MethodDecorator =>
  ApiResponse({ status, description, type: ErrorBody });

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
    failure(400, 'The request is not what it must be; `issues` says where.'),
    failure(401, 'The key is missing, unknown, malformed, revoked or expired, or names no organization.'),
    failure(
      403,
      requirement.scope === 'any'
        ? 'The organization may not do this.'
        : `The key lacks the scope \`${requirement.scope}\`, or the organization may not do this.`,
    ),
    failure(414, 'The address is longer than 8,192 bytes.'),
    failure(
      429,
      'Too many requests with this key, or over 16 MiB of bodies at once; `Retry-After` says when to go on.',
    ),
    failure(500, 'An error of ours. The log has it under the `X-Request-Id` of the answer.'),
    failure(503, 'The log or the database is away; asking again after `Retry-After` seconds is safe.'),
  );
