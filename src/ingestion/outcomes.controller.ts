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

/** Parked events belong to any projection. */
const READS = {
  reads: ['metrics', 'brands-and-flags', 'asset-statuses', 'asset-groups', 'takedowns', 'webhooks', 'records'],
  namesCheckpoint: true,
} as const;
const WHOSE = 'Of the events that the keys of the organization have sent or, for a key without one, this key.';

/** What became of sent events, for those who sent them. */
@ApiTags('Events')
@Controller('v2/events')
export class OutcomesController {
  constructor(private readonly queries: QueryBus) {}

  @Get('rejected')
  @Access({ scope: 'ingest', organization: false, ...READS })
  @ApiOperation({
    summary: 'Which events were rejected, and why: a count and a sample by day and reason',
    description: WHOSE,
  })
  @ApiOkResponse({ type: RejectionPageDto, description: 'A page, the newest day first.' })
  listRejectedEvents(@CurrentCaller() caller: Caller, @Query() query: RejectionsRequest): Promise<RejectionPageDto> {
    const { from, reason, type, cursor } = query;
    return this.queries.execute(new ListRejections(ownerOf(caller), { from, reason, type }, limitOf(query), cursor));
  }

  @Get('parked')
  @Access({ scope: 'ingest', organization: false, ...READS })
  @ApiOperation({
    summary: 'Which events are stored and could not be applied, since when and why',
    description:
      'Events about the records of the organization or, for a key without one, those that this key has sent. The ' +
      'operator applies a parked event again, or drops it. A later state of the record makes it unimportant.',
  })
  @ApiOkResponse({ type: ParkedPageDto, description: 'A page, the last in the log first.' })
  listParkedEvents(@CurrentCaller() caller: Caller, @Query() query: PageRequest): Promise<ParkedPageDto> {
    return this.queries.execute(new ListParked(caller, limitOf(query), query.cursor));
  }

  @Get('usage')
  @Access({ scope: 'ingest', organization: false, ...READS })
  @ApiOperation({
    summary: 'How many events were accepted, known already or rejected, by day and type; what is left of the quota',
    description: `${WHOSE} 90 days are kept.`,
  })
  @ApiOkResponse({ type: EventUsageDto, description: 'Counts, and the quota of an organization.' })
  getEventUsage(@CurrentCaller() caller: Caller, @Query() { from, to }: EventUsageRequest): Promise<EventUsageDto> {
    return this.queries.execute(new GetEventUsage(caller, from, to));
  }

  @Post('status')
  @HttpCode(200)
  @Access({ scope: 'ingest', organization: false, ...STATUS_BODY, ...READS })
  @ApiOperation({
    summary: 'What became of up to 100 events: unknown, stored, counted, superseded or parked',
    description:
      'Of events about the records of the organization or, for a key without one, of those that this key has sent. Any ' +
      'other is `unknown`. With the log in EventStoreDB, which finds no event by its id, an event is looked for among the ' +
      'last 100 of its record, and unknown if it is older.',
  })
  @ApiOkResponse({ type: EventStatusesDto, description: 'One status for each event, in order.' })
  async getEventStatus(
    @CurrentCaller() caller: Caller,
    @Body() { events }: EventStatusRequest,
  ): Promise<EventStatusesDto> {
    return { events: [...(await this.queries.execute(new GetEventStatus(caller, events)))] };
  }
}
