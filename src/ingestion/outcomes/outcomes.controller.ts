import { Body, Controller, Get, HttpCode, Post, Query, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Access } from '../../http/access/access.js';
import { type Caller, CurrentCaller, ownerOf } from '../../http/access/caller.js';
import { ConsistencyTokens } from '../../http/consistency.js';
import { ALL_PROJECTIONS } from '../../read-models/checkpoints.js';
import {
  limitOf,
  PageRequest,
  ParkedPageDto,
  RejectionPageDto,
  RejectionsRequest,
  EventStatusesDto,
  EventStatusRequest,
  STATUS_BODY,
  EventUsageDto,
  EventUsageRequest,
} from './outcomes.dto.js';
import { ListParked } from './list-parked.js';
import { ListRejections } from './list-rejections.js';
import { GetEventStatus } from './get-event-status.js';
import { GetEventUsage } from './get-event-usage.js';

/** Reads every projection, because any projection can have parked events. */
const ACCESS = { scope: 'ingest', organization: false, reads: ALL_PROJECTIONS } as const;
const COVERAGE =
  'The response covers the events that the organization’s keys have sent. For a key without an organization, the response ' +
  'covers the events that this key has sent.';

/** The outcomes of events, for their senders. */
@ApiTags('Events')
@Controller('v2/events')
export class OutcomesController {
  constructor(
    private readonly queries: QueryBus,
    private readonly tokens: ConsistencyTokens,
  ) {}

  @Get('rejected')
  @Access(ACCESS)
  @ApiOperation({
    summary: 'List rejected events by day and reason',
    description: `${COVERAGE} Each item has the number of events and a sample.`,
  })
  @ApiOkResponse({ type: RejectionPageDto, description: 'A page of rejections, newest day first.' })
  async listRejectedEvents(
    @CurrentCaller() caller: Caller,
    @Query() query: RejectionsRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<RejectionPageDto> {
    const { from, reason, type, cursor } = query;
    const list = new ListRejections(ownerOf(caller), { from, reason, type }, limitOf(query), cursor);
    return this.tokens.addTo(reply, await this.queries.execute(list));
  }

  @Get('parked')
  @Access(ACCESS)
  @ApiOperation({
    summary: 'List events that are stored but could not be applied',
    description:
      'The response covers the events about the organization’s records. For a key without an organization, the response ' +
      'covers the events that this key has sent. The operator retries or drops a parked event. Once a later state of the ' +
      'record is stored, the parked event no longer matters.',
  })
  @ApiOkResponse({
    type: ParkedPageDto,
    description: 'A page of parked events, in descending order of their position in the log.',
  })
  async listParkedEvents(
    @CurrentCaller() caller: Caller,
    @Query() query: PageRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ParkedPageDto> {
    const list = new ListParked({ caller, limit: limitOf(query), cursor: query.cursor });
    return this.tokens.addTo(reply, await this.queries.execute(list));
  }

  @Get('usage')
  @Access(ACCESS)
  @ApiOperation({
    summary: 'Get event counts by day, type and outcome, and the remaining quota',
    description: `${COVERAGE} Counts are kept for 90 days.`,
  })
  @ApiOkResponse({
    type: EventUsageDto,
    description: 'The counts and, for a key of an organization, the quota of the organization.',
  })
  async getEventUsage(
    @CurrentCaller() caller: Caller,
    @Query() { from, to }: EventUsageRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<EventUsageDto> {
    return this.tokens.addTo(reply, await this.queries.execute(new GetEventUsage({ caller, from, to })));
  }

  @Post('status')
  @HttpCode(200)
  @Access({ ...ACCESS, ...STATUS_BODY, onlyReads: true })
  @ApiOperation({
    summary: 'Get the status of up to 100 events',
    description:
      'An event is unknown, stored, counted, superseded or parked. The response covers the events about the organization’s ' +
      'records. For a key without an organization, the response covers the events that this key has sent. Any other event ' +
      'is `unknown`. If the log is in EventStoreDB, which cannot look up an event by its id, only the last 100 events of ' +
      'the record are searched, and an older event is `unknown`.',
  })
  @ApiOkResponse({ type: EventStatusesDto, description: 'One status for each event, in the order of the request.' })
  async getEventStatus(
    @CurrentCaller() caller: Caller,
    @Body() { events }: EventStatusRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<EventStatusesDto> {
    const statuses = await this.tokens.addTo(reply, await this.queries.execute(new GetEventStatus({ caller, events })));
    return { events: [...statuses] };
  }
}
