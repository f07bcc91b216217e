import { Controller, HttpCode, Post, Req } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiBody, ApiConsumes, ApiExtraModels, ApiOkResponse, ApiOperation, getSchemaPath } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { Access } from '../http/access.js';
import { type Caller, CallerKey } from '../http/caller.js';
import { MOST_AHEAD } from './cloud-event.js';
import { readEvents } from './content-mode.js';
import { CloudEventDto, RecordedEventsDto } from './events.dto.js';
import { LARGEST_BODY } from './limits.js';
import { type RecordedEvents, RecordEvents } from './record-events.js';

const EXAMPLE = {
  specversion: '1.0',
  id: 'threat-1-approved',
  source: 'https://upstream.example/threats',
  type: 'ThreatStatusChanged',
  time: '2026-03-01T12:00:00.000Z',
  data: {
    organization: 'acme',
    threatId: 'threat-1',
    asset: { type: 'URL', content: 'phishing.example' },
    status: 'APPROVED',
    createdAt: '2026-03-01T11:58:00.000Z',
    updatedAt: '2026-03-01T12:00:00.000Z',
  },
};

@Controller('v2/events')
@ApiExtraModels(CloudEventDto)
export class EventsController {
  constructor(private readonly commands: CommandBus) {}

  @Post()
  @HttpCode(200)
  @Access({ scope: 'ingest', organization: false, bodyLimit: LARGEST_BODY, rawBody: true })
  @ApiOperation({
    summary: 'Report what happened upstream, as CloudEvents 1.0',
    description:
      'One event as `application/cloudevents+json`, up to 1,000 as `application/cloudevents-batch+json`, or one in ' +
      'binary mode: its data as `application/json`, its attributes as `ce-` headers. Answered means on disk; not ' +
      'answered means: send it again, nothing counts twice.',
  })
  @ApiConsumes('application/cloudevents+json', 'application/cloudevents-batch+json', 'application/json')
  @ApiBody({
    schema: {
      oneOf: [
        { $ref: getSchemaPath(CloudEventDto) },
        { type: 'array', maxItems: 1000, items: { $ref: getSchemaPath(CloudEventDto) } },
      ],
      example: EXAMPLE,
    },
  })
  @ApiOkResponse({ type: RecordedEventsDto })
  record(@Req() request: FastifyRequest, @CallerKey() caller: Caller): Promise<RecordedEvents> {
    const latest = Date.now() + MOST_AHEAD;
    const events = readEvents(
      {
        headers: request.headers,
        headersDistinct: request.raw.headersDistinct,
        body: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0),
      },
      latest,
    );
    return this.commands.execute(new RecordEvents(events, latest, caller.organization));
  }
}
