import { applyDecorators, Controller, Get, Param, Res, type Type } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { ApiOkResponse, ApiOperation, ApiParam, ApiQuery, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { TimeSlices } from '../../flow/turns.js';
import { Access, type Requirement } from '../../http/access/access.js';
import { ownerOf } from '../../http/access/caller.js';
import { SAFE_BROWSING_PATH } from '../../http/access/request-key.js';
import { preferredType } from '../../http/responses/accept.js';
import { JSON_TYPE } from '../../http/responses/send-snapshot.js';
import { encodeMessage, jsonOfMessage, type Responses } from './messages.js';
import { ReadPrefixLists, SearchHashes } from './read-safe-browsing.js';

const PROTOBUF = 'application/x-protobuf';

type Parameters = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Returns the values of a query parameter. Clients repeat its name. */
const valuesOf = (reply: FastifyReply, name: string): readonly string[] => {
  const value = (reply.request.query as Parameters)[name];
  if (value === undefined || value === '') return [];
  return typeof value === 'string' ? [value] : value;
};

/** As JSON if the client asks for JSON, otherwise in the binary format, which browsers expect. */
const send = <Name extends keyof Responses>(
  reply: FastifyReply,
  name: Name,
  response: Responses[Name],
): Buffer | string => {
  const alt = valuesOf(reply, 'alt')[0] ?? valuesOf(reply, '$alt')[0];
  const isJson = alt === 'json' || (alt === undefined && prefersJson(reply.request.headers.accept));
  void reply.type(isJson ? JSON_TYPE : PROTOBUF);
  return isJson ? jsonOfMessage(response) : Buffer.from(encodeMessage(name, response));
};

const prefersJson = (accept: string | undefined): boolean =>
  preferredType(accept, [PROTOBUF, 'application/json']) === 'application/json';

const ApiMessage = (): MethodDecorator =>
  applyDecorators(
    ApiQuery({ name: 'alt', required: false, enum: ['json', 'proto'], description: 'Default: `proto`.' }),
    ApiQuery({ name: 'key', required: false, description: 'An API key.' }),
    ApiOkResponse({
      content: {
        [PROTOBUF]: { schema: { type: 'string', format: 'binary' } },
        'application/json': { schema: { type: 'object' } },
      },
    }),
  );

/** Creates the routes of Safe Browsing v5. @param access as for all local lists */
export const safeBrowsingController = (access: Requirement, headers: Readonly<Record<string, string>>): Type => {
  @ApiTags('Local lists')
  @Controller(SAFE_BROWSING_PATH)
  class SafeBrowsingController {
    constructor(
      private readonly queries: QueryBus,
      private readonly slices: TimeSlices,
    ) {}

    @Get('hashLists::batchGet')
    @Access(access)
    @ApiOperation({
      operationId: 'batchGetHashLists',
      summary: 'Read lists of prefixes, or what has changed in them, for clients of Safe Browsing v5',
    })
    @ApiQuery({ name: 'names', isArray: true, type: String })
    @ApiQuery({ name: 'version', isArray: true, type: String, required: false })
    @ApiMessage()
    async batchGet(@Res({ passthrough: true }) reply: FastifyReply): Promise<Buffer | string> {
      const [names, versions] = [valuesOf(reply, 'names'), valuesOf(reply, 'version')];
      const lists = await this.queries.execute(new ReadPrefixLists({ names, versions }));
      // Requests that share lists resume together, and sending each of their responses takes time.
      await this.slices.waitForTurn(ownerOf(reply.request.caller));
      void reply.headers(headers);
      return send(reply, 'BatchGetHashListsResponse', lists);
    }

    @Get('hashList/:name')
    @Access(access)
    @ApiOperation({
      operationId: 'getHashList',
      summary: 'Read a list of prefixes, or what has changed in it, for clients of Safe Browsing v5',
    })
    @ApiParam({ name: 'name' })
    @ApiQuery({ name: 'version', required: false })
    @ApiMessage()
    async get(@Param('name') name: string, @Res({ passthrough: true }) reply: FastifyReply): Promise<Buffer | string> {
      const query = new ReadPrefixLists({ names: [name], versions: valuesOf(reply, 'version') });
      const { hashLists } = await this.queries.execute(query);
      // Requests that share a list resume together, and sending each of their responses takes time.
      await this.slices.waitForTurn(ownerOf(reply.request.caller));
      void reply.headers(headers);
      return send(reply, 'HashList', hashLists[0]!);
    }

    @Get('hashes::search')
    @Access(access)
    @ApiOperation({
      operationId: 'searchHashes',
      summary: 'Read the full hashes that begin with prefixes, for clients of Safe Browsing v5',
    })
    @ApiQuery({ name: 'hashPrefixes', isArray: true, type: String })
    @ApiMessage()
    async search(@Res({ passthrough: true }) reply: FastifyReply): Promise<Buffer | string> {
      const found = await this.queries.execute(new SearchHashes({ prefixes: valuesOf(reply, 'hashPrefixes') }));
      void reply.headers(headers);
      return send(reply, 'SearchHashesResponse', found);
    }
  }
  return SafeBrowsingController;
};
