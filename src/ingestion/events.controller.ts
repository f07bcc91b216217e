import { Controller, Headers, HttpCode, Options, Post, Req, Res } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiExcludeEndpoint, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Config } from '../config.js';
import { Invalid } from '../errors.js';
import { Access } from '../http/access/access.js';
import { type Caller, CurrentCaller } from '../http/access/caller.js';
import { originOf } from '../http/access/origin.js';
import { MAX_AHEAD } from './cloud-event.js';
import { readEvents } from './content-mode.js';
import { RecordedEventsDto } from './events.dto.js';
import { ApiSendEvents } from './events.reference.js';
import { MAX_BODY } from './limits.js';
import { type RecordedEvents, RecordEvents } from './record-events.js';

/** Echoed in a header. */
const ORIGIN = /^[\x21-\x7e]{1,255}$/;

@ApiTags('Events')
@Controller('v2/events')
export class EventsController {
  constructor(
    private readonly commands: CommandBus,
    private readonly config: Config,
  ) {}

  @Post()
  @HttpCode(200)
  @Access({ scope: 'ingest', organization: false, bodyLimit: MAX_BODY, rawBody: true })
  @ApiSendEvents()
  @ApiOkResponse({
    type: RecordedEventsDto,
    description: 'Acknowledged events are on disk; rejected ones have their issues.',
  })
  sendEvents(@Req() request: FastifyRequest, @CurrentCaller() caller: Caller): Promise<RecordedEvents> {
    const latest = Date.now() + MAX_AHEAD;
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    const { headers, raw } = request;
    const events = readEvents({ headers, headersDistinct: raw.headersDistinct, body }, latest);
    return this.commands.execute(new RecordEvents(events, latest, caller.organization, body.length, originOf(request)));
  }

  /**
   * The handshake with which a sender asks for permission to deliver. It needs a key like the delivery itself, so any
   * origin is allowed.
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
