import { Controller, Headers, HttpCode, Options, Post, Req, Res } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import {
  ApiBody,
  ApiConsumes,
  ApiExcludeEndpoint,
  ApiExtraModels,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
  getSchemaPath,
} from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Config } from '../config.js';
import { Invalid } from '../errors.js';
import { Access } from '../http/access/access.js';
import { type Caller, CurrentCaller } from '../http/access/caller.js';
import { originOf } from '../http/access/origin.js';
import { MAX_AHEAD } from './cloud-event.js';
import { readEvents } from './content-mode.js';
import { CloudEventDto, RecordedEventsDto } from './events.dto.js';
import { MAX_BODY } from './limits.js';
import { type RecordedEvents, RecordEvents } from './record-events.js';

/** It is sent back in a header. */
const ORIGIN = /^[\x21-\x7e]{1,255}$/;

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

@ApiTags('Events')
@Controller('v2/events')
@ApiExtraModels(CloudEventDto)
export class EventsController {
  constructor(
    private readonly commands: CommandBus,
    private readonly config: Config,
  ) {}

  @Post()
  @HttpCode(200)
  @Access({ scope: 'ingest', organization: false, bodyLimit: MAX_BODY, rawBody: true })
  @ApiOperation({
    summary: 'Report what happened upstream, as CloudEvents 1.0',
    description:
      'One event as `application/cloudevents+json`, up to 1,000 as `application/cloudevents-batch+json`, or one in ' +
      'binary mode: its data as `application/json`, its attributes as `ce-` headers. Answered means on disk; not ' +
      'answered means: send it again, nothing counts twice. `OPTIONS` with `WebHook-Request-Origin` answers the ' +
      'handshake of the CloudEvents WebHook specification.',
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
  @ApiOkResponse({ type: RecordedEventsDto, description: 'What is acknowledged is on disk; the rest says why not.' })
  sendEvents(@Req() request: FastifyRequest, @CurrentCaller() caller: Caller): Promise<RecordedEvents> {
    const latest = Date.now() + MAX_AHEAD;
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    const { headers, raw } = request;
    const events = readEvents({ headers, headersDistinct: raw.headersDistinct, body }, latest);
    return this.commands.execute(new RecordEvents(events, latest, caller.organization, body.length, originOf(request)));
  }

  /**
   * The handshake by which a sender asks whether it may deliver here. Like the delivery itself it needs a key, so the
   * origin that it names is allowed.
   */
  @Options()
  @HttpCode(200)
  @Access({ scope: 'ingest', organization: false })
  @ApiExcludeEndpoint()
  handshake(
    @Headers('webhook-request-origin') origin: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): void {
    if (origin === undefined || !ORIGIN.test(origin))
      throw new Invalid('WebHook-Request-Origin must name the sender, such as upstream.example');
    const { rateLimitPerMinute } = this.config;
    void reply.headers({
      allow: 'OPTIONS, POST',
      'webhook-allowed-origin': origin,
      'webhook-allowed-rate': rateLimitPerMinute === 0 ? '*' : String(rateLimitPerMinute),
    });
  }
}
