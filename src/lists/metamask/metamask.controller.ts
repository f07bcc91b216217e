import { Controller, Get, Param, Query, Res, type Type } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { TimeSlices } from '../../flow/turns.js';
import { Access, type Requirement } from '../../http/access/access.js';
import { ownerOf } from '../../http/access/caller.js';
import { LISTS_PATH } from '../../http/access/request-key.js';
import { ApiFailure } from '../../http/errors/error-body.dto.js';
import { JSON_TYPE } from '../../http/responses/send-snapshot.js';
import { ListsRequest } from '../lists.dto.js';
import { METAMASK_LISTS, ReadDifferencesForMetaMask, ReadWholeForMetaMask } from './read-metamask.js';

/** When the hosts of command servers last changed. */
const NEVER = '1970-01-01T00:00:00.000Z';

/** Creates the routes that `@metamask/phishing-controller` reads. @param access as for all local lists */
export const metamaskController = (access: Requirement, headers: Readonly<Record<string, string>>): Type => {
  const NAME = ApiParam({ name: 'name', enum: METAMASK_LISTS });

  @ApiTags('Local lists')
  @Controller(`${LISTS_PATH}/:name/metamask`)
  class MetaMaskController {
    constructor(
      private readonly queries: QueryBus,
      private readonly slices: TimeSlices,
    ) {}

    @Get('v1/stalelist')
    @Access(access)
    @ApiOperation({
      operationId: 'getMetaMaskList',
      summary: "Read a whole list in the form of MetaMask's controller",
      description:
        'Hosts only, always compressed with gzip. A list is at most 5 minutes old; `diffsSince` has what has changed since ' +
        'its `lastUpdated`.',
    })
    @NAME
    @ApiOkResponse({ content: { 'application/json': { schema: { type: 'object' } } } })
    @ApiFailure(404, 'There is no such list.')
    async whole(
      @Param('name') name: string,
      @Query() _: ListsRequest,
      @Res({ passthrough: true }) reply: FastifyReply,
    ): Promise<Buffer> {
      const body = await this.queries.execute(new ReadWholeForMetaMask({ name }));
      // Requests that share a list resume together, and sending each of their responses takes time.
      await this.slices.waitForTurn(ownerOf(reply.request.caller));
      void reply.headers({ ...headers, 'content-encoding': 'gzip' }).type(JSON_TYPE);
      return body;
    }

    @Get('v2/diffsSince/:second')
    @Access(access)
    @ApiOperation({
      operationId: 'getMetaMaskDifferences',
      summary: "Read what has changed in a list, in the form of MetaMask's controller",
    })
    @NAME
    @ApiParam({ name: 'second', description: 'The `lastUpdated` of the client, in seconds since 1970.' })
    @ApiOkResponse({ content: { 'application/json': { schema: { type: 'object' } } } })
    @ApiFailure(404, 'There is no such list.')
    async since(
      @Param('name') name: string,
      @Param('second') second: string,
      @Query() _: ListsRequest,
      @Res({ passthrough: true }) reply: FastifyReply,
    ): Promise<Buffer> {
      const body = await this.queries.execute(new ReadDifferencesForMetaMask({ name, second }));
      // Requests that share a list resume together, and sending each of their responses takes time.
      await this.slices.waitForTurn(ownerOf(reply.request.caller));
      void reply.headers({ ...headers, 'content-encoding': 'gzip' }).type(JSON_TYPE);
      return body;
    }

    @Get('v1/request-blocklist')
    @Access(access)
    @ApiOperation({
      operationId: 'getMetaMaskRequestBlocklist',
      summary: "Read the hosts of command servers, of which this service has none, for MetaMask's controller",
    })
    @NAME
    @ApiOkResponse({ content: { 'application/json': { schema: { type: 'object' } } } })
    requests(@Query() _: ListsRequest, @Res({ passthrough: true }) reply: FastifyReply): string {
      void reply.headers(headers).type(JSON_TYPE);
      return JSON.stringify({ recentlyAdded: [], recentlyRemoved: [], lastFetchedAt: NEVER });
    }
  }
  return MetaMaskController;
};
