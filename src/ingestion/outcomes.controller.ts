import { Body, Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Access } from '../http/access/access.js';
import { type Caller, CurrentCaller, ownerOf } from '../http/access/caller.js';
import { limitOf, PageRequest } from './page.dto.js';
import { ListParked } from './parked/list-parked.js';
import { ParkedPageDto } from './parked/parked.dto.js';
import { ListRejections } from './rejections/list-rejections.js';
import { RejectionPageDto, RejectionsRequest } from './rejections/rejections.dto.js';
import { GetEventStatus } from './status/get-event-status.js';
import { EventStatusesDto, EventStatusRequest, STATUS_BODY } from './status/status.dto.js';
import { GetEventUsage } from './usage/get-event-usage.js';
import { EventUsageDto, EventUsageRequest } from './usage/usage.dto.js';

/** Reads every projection, because any projection can have parked events. */
const READS = {
  reads: ['metrics', 'brands-and-flags', 'asset-statuses', 'asset-groups', 'takedowns', 'webhooks', 'records'],
  responseNamesCheckpoint: true,
} as const;
const COVERAGE =
  'The response covers the events that the organization’s keys have sent. For a key without an organization, the response ' +
  'covers the events that this key has sent.';

/** The outcomes of events, for their senders. */
@ApiTags('Events')
@Controller('v2/events')
export class OutcomesController {
  constructor(private readonly queries: QueryBus) {}

  @Get('rejected')
  @Access({ scope: 'ingest', organization: false, ...READS })
  @ApiOperation({
    summary: 'List rejected events by day and reason',
    description: `${COVERAGE} Each item has the number of events and a sample.`,
  })
  @ApiOkResponse({ type: RejectionPageDto, description: 'A page of rejections, newest day first.' })
  listRejectedEvents(@CurrentCaller() caller: Caller, @Query() query: RejectionsRequest): Promise<RejectionPageDto> {
    const { from, reason, type, cursor } = query;
    return this.queries.execute(new ListRejections(ownerOf(caller), { from, reason, type }, limitOf(query), cursor));
  }

  @Get('parked')
  @Access({ scope: 'ingest', organization: false, ...READS })
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
  listParkedEvents(@CurrentCaller() caller: Caller, @Query() query: PageRequest): Promise<ParkedPageDto> {
    return this.queries.execute(new ListParked(caller, limitOf(query), query.cursor));
  }

  @Get('usage')
  @Access({ scope: 'ingest', organization: false, ...READS })
  @ApiOperation({
    summary: 'Get event counts by day, type and outcome, and the remaining quota',
    description: `${COVERAGE} Counts are kept for 90 days.`,
  })
  @ApiOkResponse({
    type: EventUsageDto,
    description: 'The counts and, for a key of an organization, the quota of the organization.',
  })
  getEventUsage(@CurrentCaller() caller: Caller, @Query() { from, to }: EventUsageRequest): Promise<EventUsageDto> {
    return this.queries.execute(new GetEventUsage(caller, from, to));
  }

  @Post('status')
  @HttpCode(200)
  @Access({ scope: 'ingest', organization: false, ...STATUS_BODY, ...READS })
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
  ): Promise<EventStatusesDto> {
    return { events: [...(await this.queries.execute(new GetEventStatus(caller, events)))] };
  }
}
