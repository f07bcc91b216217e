import { applyDecorators, Controller, Get, Param, Query, Res, type Type } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import {
  ApiExtraModels,
  ApiHeader,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiResponse,
  ApiTags,
  getSchemaPath,
} from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { NotAcceptable } from '../errors.js';
import { formatInstant } from '../events/instant.js';
import { TimeSlices } from '../flow/turns.js';
import { Access, type Requirement } from '../http/access/access.js';
import { ownerOf, strangerOf } from '../http/access/caller.js';
import { preferredWaitSeconds } from '../http/consistency.js';
import { ApiFailure } from '../http/errors/error-body.dto.js';
import { acceptsGzip, preferredType, weightOf } from '../http/responses/accept.js';
import { entityTag, JSON_TYPE, matchesEntityTag } from '../http/responses/send-snapshot.js';
import { LISTS_PATH } from '../http/access/request-key.js';
import { limit } from '../limits.js';
import { LIST_NAMES } from './built-lists.js';
import { DescribedList, ListRequest, ListsRequest, LocalList } from './lists.dto.js';
import { ReadList, ReadLists } from './read-lists.js';

const MAX_WAIT_SECONDS = limit(
  'wait for a list with `Prefer: wait`',
  25,
  'seconds',
  'request',
  'the list is unchanged',
);
const BYTES = 'application/octet-stream';

const ApiTagged = (): MethodDecorator =>
  applyDecorators(
    ApiHeader({ name: 'If-None-Match', required: false, description: 'The `ETag` of an earlier response.' }),
    ApiResponse({ status: 304, description: 'The content is unchanged.' }),
  );

/** Creates the routes of local lists. */
export const listsController = (access: Requirement, headers: Readonly<Record<string, string>>): Type => {
  @ApiTags('Local lists')
  @Controller(LISTS_PATH)
  class ListsController {
    constructor(
      private readonly queries: QueryBus,
      private readonly slices: TimeSlices,
    ) {}

    @Get()
    @Access(access)
    @ApiOperation({
      operationId: 'getLocalLists',
      summary: 'Describe the local lists',
      description: 'Lists of hashes in which a client looks up verdicts without asking the service.',
    })
    @ApiOkResponse({ type: [DescribedList] })
    @ApiTagged()
    async describe(
      @Query() _: ListsRequest,
      @Res({ passthrough: true }) reply: FastifyReply,
    ): Promise<string | undefined> {
      const text = JSON.stringify(await this.queries.execute(new ReadLists({})));
      const tag = entityTag(text);
      void reply.headers({ ...headers, etag: tag });
      if (matchesEntityTag(reply.request.headers['if-none-match'], tag)) return void reply.code(304);
      void reply.type(JSON_TYPE);
      return text;
    }

    @Get(':name')
    @Access(access)
    @ApiOperation({
      operationId: 'getLocalList',
      summary: 'Read a local list, or what has changed in it',
      description:
        'As JSON, or as the sorted hashes in bytes, big endian (`Accept: application/octet-stream`), with version and ' +
        'signature in the headers `List-Version`, `List-Cut-At` and `List-Signature`.',
    })
    @ApiParam({ name: 'name', enum: LIST_NAMES })
    @ApiHeader({
      name: 'Prefer',
      required: false,
      description: '`wait=SECONDS` (at most 25): if the client has the newest version, waits for the next one.',
    })
    @ApiExtraModels(LocalList)
    @ApiOkResponse({
      content: {
        'application/json': { schema: { $ref: getSchemaPath(LocalList) } },
        [BYTES]: { schema: { type: 'string', format: 'binary' } },
      },
    })
    @ApiTagged()
    @ApiFailure(404, 'There is no such list.')
    @ApiFailure(406, 'The client accepts neither media type.')
    async read(
      @Param('name') name: string,
      @Query() { since }: ListRequest,
      @Res({ passthrough: true }) reply: FastifyReply,
    ): Promise<Buffer | undefined> {
      const { caller, ip, headers: sent } = reply.request;
      const { accept } = sent;
      const type = preferredType(accept, ['application/json', BYTES]);
      if (accept !== undefined && weightOf(type, accept) === 0)
        throw new NotAcceptable(`Accept must allow application/json or ${BYTES}`);
      const isGzip = acceptsGzip(String(sent['accept-encoding'] ?? ''));
      const seconds = preferredWaitSeconds(sent['prefer'], MAX_WAIT_SECONDS);
      const disconnected = new AbortController();
      reply.raw.once('close', () => disconnected.abort());
      const { tag, body, version, head } = await this.queries.execute(
        new ReadList({
          name,
          since,
          form: type === BYTES ? 'bytes' : isGzip ? 'gzip' : 'json',
          ifNoneMatch: sent['if-none-match'],
          waitMs: (seconds ?? 0) * 1_000,
          keyId: caller?.keyId,
          stranger: strangerOf(caller, ip),
          signal: disconnected.signal,
        }),
      );
      // Requests that share a list resume together, and sending each of their responses takes time.
      await this.slices.waitForTurn(ownerOf(caller));
      void reply.headers({ ...headers, etag: tag });
      if (seconds !== undefined) void reply.header('preference-applied', `wait=${seconds}`);
      if (body === undefined) return void reply.code(304);
      if (type === BYTES) {
        void reply.headers({ 'list-version': version.token, 'list-cut-at': formatInstant(head.cutAt) });
        if (head.signature !== null) void reply.header('list-signature', head.signature.toString('base64'));
      } else if (isGzip) void reply.header('content-encoding', 'gzip');
      void reply.type(type === BYTES ? BYTES : JSON_TYPE);
      return body;
    }
  }
  return ListsController;
};
