import { Controller, Get, Query, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { ApiOkResponse, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { formatInstant } from '../../events/instant.js';
import { Access } from '../../http/access/access.js';
import { Organization } from '../../http/access/caller.js';
import { MinPosition } from '../../http/consistency/consistency.js';
import { ConsistencyTokens } from '../../http/consistency/consistency-token.js';
import { ErrorBody } from '../../http/errors/error-body.dto.js';
import { numbersOf } from '../../events/kinds.js';
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
  @Access({ scope: 'read', reads: ['records'] })
  @ApiOperation({
    summary: 'The records as they change: a full copy, and then every change',
    description:
      'HTTP Feeds (aggregated, compacted): CloudEvents in the order in which changes were stored. Each record comes ' +
      'once, as its newest state, where its last change stands, or with `method: DELETE` where it is deleted or no ' +
      'longer concerns the organization. A reader that keeps the `id` of the last element it has worked on with its ' +
      'copy, and sends it as `lastEventId`, never misses a change and never takes an older state over a newer one. A ' +
      'state that was overtaken before it was read may be left out. Nothing expires.',
  })
  @ApiOkResponse({
    description: 'The next elements; none if there is nothing new.',
    headers: {
      'X-As-Of': {
        description:
          'Together with all answers before, everything that `POST /v2/events` acknowledged before this instant ' +
          '(ISO 8601, UTC) is in this answer; if it has as many elements as it may, up to its last one.',
        required: true,
        schema: { type: 'string', format: 'date-time' },
      },
    },
    content: { [MEDIA_TYPE]: { schema: { $ref: '#/components/schemas/Feed' } } },
  })
  @ApiResponse({
    status: 410,
    description: 'The `lastEventId` or the token is of another log, or of before a restore. Start again without it.',
    type: ErrorBody,
  })
  async getFeed(
    @Organization() organization: string,
    @Query() { lastEventId, timeout = '0', types, limit = String(MAX_ELEMENTS) }: FeedRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @MinPosition() minPosition?: number,
  ): Promise<string> {
    const left = new AbortController();
    reply.raw.once('close', () => left.abort());
    const kinds = numbersOf(types?.split(','));
    const [most, ms] = [Number(limit), Number(timeout)];
    const query = new ReadFeed(organization, kinds, most, lastEventId, ms, left.signal, minPosition);
    const { answer, asOf, position } = await this.queries.execute(query);
    await this.tokens.add(reply, position);
    void reply.header('x-as-of', formatInstant(asOf)).type(MEDIA_TYPE);
    return answer;
  }
}
