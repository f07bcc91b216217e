import { applyDecorators, Controller, Delete, Get, Post, Query, Res, type Type } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import {
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  type ApiParamOptions,
  ApiQuery,
  ApiResponse,
  ApiTags,
} from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { NotAcceptable, NotFound } from '../../errors.js';
import { formatInstant, parseInstant } from '../../events/instant.js';
import { BEGINNING } from '../../event-log/event-log.js';
import { Access } from '../../http/access/access.js';
import { Organization } from '../../http/access/caller.js';
import { MinPosition, ConsistencyTokens } from '../../http/consistency.js';
import { ApiFailure } from '../../http/errors/error-body.dto.js';
import { SNAPSHOT_HEADERS, sendSnapshot } from '../../http/responses/send-snapshot.js';
import { acceptsTaxii, asTaxii, TAXII_PATH, TAXII_TYPE } from '../../http/taxii.js';
import { COLLECTIONS, manifestJson, type ObjectRow, objectJson, STIX_TYPE, versionJson } from './objects.js';
import { collectionOf, ReadObjects, readRequest } from './read-objects.js';
import type { PageForm } from './write-page.js';

const ROOT = 'api';
const REFUSED = { scope: 'read', refused: 'The collections are read-only' } as const;

const describeCollection = ({ id, alias, title, description }: (typeof COLLECTIONS)[number]): object => ({
  id,
  title,
  description,
  alias,
  can_read: true,
  can_write: false,
  media_types: [STIX_TYPE],
});

const HEADERS = {
  ...SNAPSHOT_HEADERS,
  ...Object.fromEntries(
    ['First', 'Last'].map((end) => [
      `X-TAXII-Date-Added-${end}`,
      {
        description: `When the ${end.toLowerCase()} object of the response was added. Absent if the response has no objects.`,
        schema: { type: 'string' as const, format: 'date-time' },
      },
    ]),
  ),
};
const bodyOf = (example: object) => ({
  'application/taxii+json': { schema: { type: 'object' as const, description: 'As TAXII 2.1 defines it.' }, example },
});

const AT = parseInstant('2026-03-01T12:01:00.250Z')!;
const EXAMPLE: ObjectRow = {
  addedAt: AT,
  firstAddedAt: AT,
  record: '1b3a4b25-8f43-5d5c-9d3e-0d5b6f0f6a11',
  id: 'threat-7021',
  item: JSON.stringify({
    asset: { type: 'URL', content: 'polkadot-dot.info' },
    status: 'BLOCKED',
    createdAt: '2026-03-01T12:00:00.000Z',
  }),
};

const PARAMETERS: Readonly<Record<string, string>> = {
  added_after: 'Only objects that were added after this time (RFC 3339, with `Z` or an offset).',
  limit:
    'Objects per page, 1 to 1,000; more counts as 1,000. Default: 100. A page is extended to the end of its last ' +
    'millisecond, up to 5,000 objects and 4 MiB.',
  next: 'The `next` of the previous page. It contains the other parameters, and never expires.',
  'match[id]': 'Only these objects, separated by commas.',
  'match[type]': 'Only objects of these types; every object is an `indicator`.',
  'match[version]':
    'Only these versions: `last`, `first`, `all` or times. Only the newest version of an object exists.',
  'match[spec_version]': 'Only objects of these versions of STIX; every object is of `2.1`.',
};

/** A resource, as the API reference describes it. */
interface Described {
  /** The path below `TAXII_PATH`. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
}

const PATH_PARAMETERS: Readonly<Record<string, ApiParamOptions>> = {
  collection: {
    name: 'collection',
    description: 'The alias or the id of a collection.',
    schema: { type: 'string', examples: ['threats'] },
  },
  object: {
    name: 'object',
    description: 'The STIX id of an object.',
    schema: { type: 'string', examples: [`indicator--${EXAMPLE.record}`] },
  },
};

const Taxii = ({ path, operationId, summary, description }: Described, ...more: MethodDecorator[]): MethodDecorator =>
  applyDecorators(
    Get(path),
    ApiOperation({ operationId, summary, description }),
    ...[...path.matchAll(/:(\w+)/g)].map(([, name]) => ApiParam(PATH_PARAMETERS[name!]!)),
    ...(path.includes(':') ? [ApiFailure(404, 'The collection or the object does not exist.')] : []),
    ApiFailure(406, 'The client does not accept TAXII 2.1.'),
    ...more,
  );

/**
 * Begins a response: requires that the client accepts the media type, and returns the names in the path. @throws
 * NotAcceptable
 */
const begin = (reply: FastifyReply): { readonly collection: string; readonly object?: string } => {
  const { request } = asTaxii(reply);
  if (!acceptsTaxii(request.headers.accept)) throw new NotAcceptable(`Accept must allow ${TAXII_TYPE}`);
  return request.params as { collection: string; object?: string };
};

/** Creates the route of a resource that does not depend on the log. */
const resource = (described: Described, read: (collection: string) => object): Type => {
  @ApiTags('TAXII')
  @Controller(TAXII_PATH)
  class TaxiiResourceController {
    constructor(private readonly tokens: ConsistencyTokens) {}

    @Access({ scope: 'read' })
    @Taxii(
      described,
      ApiOkResponse({ description: 'The resource, as TAXII 2.1 defines it.', content: bodyOf(read('threats')) }),
    )
    async read(@Res({ passthrough: true }) reply: FastifyReply): Promise<string> {
      const text = JSON.stringify(read(begin(reply).collection));
      await this.tokens.add(reply, BEGINNING);
      void reply.type(TAXII_TYPE);
      return text;
    }
  }
  return TaxiiResourceController;
};

/** Creates the route of objects. */
const objects = (described: Described, list: PageForm['list'], write: PageForm['write']): Type => {
  const form: PageForm = { name: described.operationId, list, write };
  const example = JSON.parse(`{"more":false,"${list}":[${write(EXAMPLE, COLLECTIONS[0]!)}]}`) as object;
  @ApiTags('TAXII')
  @Controller(TAXII_PATH)
  class TaxiiObjectsController {
    constructor(
      private readonly queries: QueryBus,
      private readonly tokens: ConsistencyTokens,
    ) {}

    @Access({ scope: 'read', reads: ['register'] })
    @Taxii(
      described,
      ...Object.entries(PARAMETERS).map(([name, description]) =>
        ApiQuery({ name, description, required: false, schema: { type: 'string' } }),
      ),
      ApiOkResponse({ description: 'A page.', headers: HEADERS, content: bodyOf(example) }),
      ApiResponse({ status: 304, description: 'The page is unchanged.', headers: HEADERS }),
    )
    async read(
      @Organization() organization: string,
      @Query() query: Readonly<Record<string, unknown>>,
      @Res({ passthrough: true }) reply: FastifyReply,
      @MinPosition() minPosition?: number,
    ): Promise<string | undefined> {
      const { collection: name, object } = begin(reply);
      const collection = collectionOf(name);
      const { result, ...moment } = await this.queries.execute(
        new ReadObjects(organization, collection, readRequest(query, object), form, minPosition),
      );
      const { text, tag, added, isFound } = result;
      if (object !== undefined && !isFound) throw new NotFound('Object not found');
      if (added !== undefined)
        void reply.headers({
          'x-taxii-date-added-first': formatInstant(added.first),
          'x-taxii-date-added-last': formatInstant(added.last),
        });
      return sendSnapshot({ type: TAXII_TYPE, text, tag, ...moment }, this.tokens, reply);
    }
  }
  return TaxiiObjectsController;
};

const REFUSAL = {
  summary: 'Refused, because the collections are read-only',
  description: 'The response is 403, whatever the request contains.',
};

const COLLECTION = `${ROOT}/collections/:collection`;
const OBJECT = `${COLLECTION}/objects/:object`;

@ApiTags('TAXII')
@Controller(TAXII_PATH)
class TaxiiWriteController {
  @Post(`${COLLECTION}/objects`)
  @Access(REFUSED)
  @ApiOperation({ operationId: 'sendTaxiiObjects', ...REFUSAL })
  @ApiParam(PATH_PARAMETERS['collection']!)
  add(): void {}

  @Delete(OBJECT)
  @Access(REFUSED)
  @ApiOperation({ operationId: 'deleteTaxiiObject', ...REFUSAL })
  @ApiParam(PATH_PARAMETERS['collection']!)
  @ApiParam(PATH_PARAMETERS['object']!)
  remove(): void {}
}

export const TAXII_CONTROLLERS = [
  resource(
    {
      path: '',
      operationId: 'getTaxiiDiscovery',
      summary: 'Discover the TAXII server',
      description: 'Names the API root, with paths relative to the host.',
    },
    () => ({
      title: 'Threat protection',
      description: 'The blocked threats of one organization as STIX 2.1 indicators. Read-only.',
      default: `/${TAXII_PATH}/${ROOT}/`,
      api_roots: [`/${TAXII_PATH}/${ROOT}/`],
    }),
  ),
  resource(
    {
      path: ROOT,
      operationId: 'getTaxiiRoot',
      summary: 'Get the API root',
      description: 'Names the version of TAXII. Nothing can be written.',
    },
    () => ({
      title: 'Threat protection',
      versions: [TAXII_TYPE],
      max_content_length: 65_536,
    }),
  ),
  resource(
    {
      path: `${ROOT}/collections`,
      operationId: 'listTaxiiCollections',
      summary: 'List the collections',
      description: 'The threats of the organization, and the verdicts that name one of its brands.',
    },
    () => ({ collections: COLLECTIONS.map(describeCollection) }),
  ),
  resource(
    {
      path: COLLECTION,
      operationId: 'getTaxiiCollection',
      summary: 'Get a collection',
      description: 'Describes one collection, by its alias or its id.',
    },
    (name) => describeCollection(collectionOf(name)),
  ),
  objects(
    {
      path: `${COLLECTION}/objects`,
      operationId: 'getTaxiiObjects',
      summary: 'Read the objects of a collection',
      description:
        'STIX 2.1 indicators in the order of their dates, oldest first. A record that no longer counts is `revoked`.',
    },
    'objects',
    objectJson,
  ),
  objects(
    {
      path: `${COLLECTION}/manifest`,
      operationId: 'getTaxiiManifest',
      summary: 'Read the manifest of a collection',
      description: 'The ids, dates and versions of the objects, in the order of the objects.',
    },
    'objects',
    manifestJson,
  ),
  objects(
    {
      path: OBJECT,
      operationId: 'getTaxiiObject',
      summary: 'Read one object',
      description: 'The newest version of the object, which is the only one.',
    },
    'objects',
    objectJson,
  ),
  objects(
    {
      path: `${OBJECT}/versions`,
      operationId: 'getTaxiiVersions',
      summary: 'Read the versions of an object',
      description: 'The date of the newest version, which is the only one.',
    },
    'versions',
    versionJson,
  ),
  TaxiiWriteController,
];
