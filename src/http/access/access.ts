import type { ServerResponse } from 'node:http';
import { applyDecorators } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiHeader, ApiSecurity } from '@nestjs/swagger';
import { statement, type Connection } from '../../postgres/statement.js';
import { Forbidden, NotFound } from '../../errors.js';
import { SLUG } from '../../events/declaring/fields.js';
import type { Scope } from '../../events/types/organizations.js';
import { ApiFailure } from '../errors/error-body.dto.js';
import type { ProjectionName } from '../../read-models/checkpoints.js';
import { queryParametersOf } from '../foreign-parameters.js';
import type { JsonBounds } from '../json.js';
import { BODY_LIMIT } from '../byte-limits.js';

/** Whether brand metrics are enabled for an organization, and whether the organization has this brand. */
export const FIND_BRAND = statement(
  'find-brand',
  { organization: 'text', brand: 'text' },
  { enabled: 'boolean', registered: 'boolean' },
  `
    select
      exists (select from read.feature_flags
              where organization = :organization and flag = 'brands-metrics' and enabled) as enabled,
      exists (select from read.brands
              where organization = :organization and brand = :brand and registered) as registered`,
);

/**
 * Checks that an organization may query a brand.
 * @throws Forbidden if brand metrics are not enabled for the organization
 * @throws NotFound if the organization has no such brand
 */
export const checkBrand = async (connection: Connection, organization: string, brand: string): Promise<void> => {
  // Only slugs can name a brand. Other texts are not sent to PostgreSQL, which may not accept them.
  const parameters = { organization, brand: SLUG.test(brand) ? brand : '' };
  const { enabled, registered } = (await FIND_BRAND.run(connection, parameters))[0]!;
  if (!enabled) throw new Forbidden('Brand metrics are not enabled for this organization');
  if (!registered) throw new NotFound('Brand not found');
};

/** The requirements of a route, checked before the body is read. */
export interface Requirement {
  /** The scope that the key must have (403). `any` accepts every key that can do more than read local lists. */
  readonly scope: Scope | 'any';
  /** Whether the key must belong to an organization (401). Default: true. */
  readonly organization?: boolean;
  /** The largest body in bytes (413). Default: 65,536. */
  readonly bodyLimit?: number;
  /**
   * Whether the handler gets the unparsed body as a `Buffer`, or `undefined` if the body is empty. The route then
   * accepts `application/json` and media types that end in `+json`, those of CloudEvents included; other types are a
   * 415. The handler reads the media type from the header `content-type`.
   */
  readonly rawBody?: boolean;
  /** Projections that the route reads. A request with a `Consistency-Token` waits for their checkpoints. */
  readonly reads?: readonly ProjectionName[];
  /** Whether the route stores nothing, although it is neither a GET nor of the scope `read`. */
  readonly onlyReads?: boolean;
  /** Why the route refuses every caller (403). The body is not read. */
  readonly refused?: string;
  /** Whether requests without a valid key are answered too. They are limited by address. */
  readonly isPublic?: boolean;
  /** Whether keys may be in every copy of a program. Requests are then limited for each address of a key. */
  readonly hasPublishedKeys?: boolean;
  /** Whether scripts of every web page may send requests with a key and read the responses, errors included. */
  readonly isCrossOrigin?: boolean;
  /** Whether all callers get the same buffers, which are charged once. */
  readonly sharesBuffers?: boolean;
  /** Limits on the structure of the JSON (400), for bodies of megabytes. Default: only the size is limited. */
  readonly json?: JsonBounds;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Requirement;
    /** The query parameters that the route reads. */
    parameters?: readonly string[];
  }
  interface FastifyRequest {
    /** The requirements of the route. The field is set, like `caller`, once the requirements have been checked. */
    access: Requirement | null;
    /** The response of Node. The field is set together with `access`. */
    rawResponse: ServerResponse | null;
    /** The position that the `Consistency-Token` of the request names. */
    minPosition: bigint | null;
  }
}

/** Errors that every route with `@Access` may return. */
export const SHARED_FAILURES: Readonly<Record<number, string>> = {
  401: 'The key is missing, unknown, malformed, revoked or expired, or belongs to no organization.',
  414: 'The URL exceeds 8,192 bytes.',
  410: 'The `Consistency-Token` is from another log, or from a state that was lost. Repeat the request without the token.',
  429: 'Too many requests with this key, or the request bodies or unread responses of the organization take more than 16 MiB at once. Retry after `Retry-After` seconds.',
  500: 'An internal error. The log of the process contains the details under the `X-Request-Id` of the response.',
  503: 'The event log or the database did not respond; it is safe to retry after `Retry-After` seconds.',
};

/**
 * Declares who may call the route. The service does not start if a route under `/v2` has no `@Access`.
 *
 *     @Get()
 *     @Access({ scope: 'read' })
 *     get(@Organization() organization: string) …
 */
export const Access = (requirement: Requirement): MethodDecorator =>
  applyDecorators(
    (prototype: object, method: string | symbol, descriptor: PropertyDescriptor) =>
      RouteConfig({ access: requirement, parameters: queryParametersOf(prototype, method) })(
        prototype,
        method,
        descriptor,
      ),
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
    ApiFailure(
      403,
      requirement.scope === 'any'
        ? 'The key may only read local lists.'
        : `The key lacks the scope \`${requirement.scope}\`, or the organization is not allowed to do this.`,
    ),
    // `document.ts` removes this error from routes without a body.
    ApiFailure(413, `The body is larger than ${(requirement.bodyLimit ?? BODY_LIMIT).toLocaleString('en')} bytes.`),
    ApiFailure(415, 'The route does not accept this media type or content encoding.'),
  );
