import { Controller, Get, Query, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { ApiOkResponse, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { formatInstant } from '../../events/instant.js';
import { Access } from '../../http/access/access.js';
import { Organization } from '../../http/access/caller.js';
import { MinPosition, ConsistencyTokens } from '../../http/consistency.js';
import { ErrorBody } from '../../http/errors/error-body.dto.js';
import { numbersOf } from '../../events/listed-items.js';
import { FeedRequest, MAX_ELEMENTS } from './feed.dto.js';
import { ReadFeed } from './read-feed.js';

const MEDIA_TYPE = 'application/cloudevents-batch+json';

@ApiTags('Records')
@Controller('v2/organization')
export class FeedController {
  constructor(
    private readonly queries: QueryBus,
    private readonly tokens: ConsistencyTokens,
  ) {}

  @Get('feed')
  @Access({ scope: 'read', reads: ['register'] })
  @ApiOperation({
    summary: 'Read the feed of record changes',
    description:
      'The feed follows HTTP Feeds (aggregated, compacted): it consists of CloudEvents in the order in which changes were ' +
      'stored. A client first reads a full copy of all records, and then every change. Each record appears once, in its ' +
      'newest state, at the position of its last change. If a record is deleted or no longer concerns the organization, ' +
      'it appears with `method: DELETE`. A client that stores the `id` of the last element it has processed, and sends ' +
      'that `id` as `lastEventId`, never misses a change and never replaces a newer state with an older one. A state ' +
      'may be left out if a newer state was stored before the client read it. Elements do not expire.',
  })
  @ApiOkResponse({
    description: 'The next elements. The list is empty if there are no new elements.',
    headers: {
      'X-As-Of': {
        description:
          'This response and all earlier ones together include everything that `POST /v2/events` acknowledged before ' +
          'this instant (ISO 8601, UTC). If the response has the maximum size, more elements may follow, and this instant ' +
          'is not later than the time at which the last element of the response was stored.',
        required: true,
        schema: { type: 'string', format: 'date-time' },
      },
    },
    content: { [MEDIA_TYPE]: { schema: { $ref: '#/components/schemas/Feed' } } },
  })
  @ApiResponse({
    status: 410,
    description: 'The `lastEventId` is from another log, or from before a restore. Start again without `lastEventId`.',
    type: ErrorBody,
  })
  async getFeed(
    @Organization() organization: string,
    @Query() { lastEventId, timeout = '0', types, limit = String(MAX_ELEMENTS) }: FeedRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @MinPosition() minPosition?: number,
  ): Promise<string> {
    const disconnected = new AbortController();
    reply.raw.once('close', () => disconnected.abort());
    const query = new ReadFeed({
      organization,
      kinds: numbersOf(types?.split(',')),
      limit: Number(limit),
      lastEventId,
      timeoutMs: Number(timeout),
      signal: disconnected.signal,
      minPosition,
    });
    const { result, asOf, position } = await this.queries.execute(query);
    await this.tokens.add(reply, position);
    void reply.header('x-as-of', formatInstant(asOf)).type(MEDIA_TYPE);
    return result;
  }
}
