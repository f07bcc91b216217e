import { Controller, Headers, HttpCode, Options, Post, Query, Req, Res } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { ApiExcludeEndpoint, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Config } from '../../runtime/config.js';
import { traceparentOf } from '../../runtime/tracing.js';
import { Invalid } from '../../errors.js';
import { EventLog } from '../../event-log/event-log.js';
import { Access } from '../../http/access/access.js';
import { ApiKeyVerifier, type Caller, CurrentCaller, originOf } from '../../http/access/caller.js';
import { JSON_TYPE } from '../../http/responses/send-snapshot.js';
import { DatabaseClock } from '../../postgres/clock.js';
import { readEvents, latestFrom, MAX_BODY } from './content-mode.js';
import { TryEvents } from './dry-run.js';
import { RecordedEventsDto, SendEventsRequest } from './events.dto.js';
import { ApiSendEvents } from '../reference/events.reference.js';
import { ConsistencyTokens } from '../../http/consistency.js';
import { type RecordedEvents, RecordEvents } from './record-events.js';

/** The allowed values of `WebHook-Request-Origin`, which is echoed in a response header. */
const ORIGIN = /^[\x21-\x7e]{1,255}$/;

@ApiTags('Events')
@Controller('v2/events')
export class EventsController {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly log: EventLog,
    private readonly tokens: ConsistencyTokens,
    private readonly config: Config,
    private readonly clock: DatabaseClock,
    private readonly keys: ApiKeyVerifier,
  ) {}

  @Post()
  @HttpCode(200)
  @Access({ scope: 'ingest', organization: false, bodyLimit: MAX_BODY, rawBody: true })
  @ApiSendEvents()
  @ApiOkResponse({
    type: RecordedEventsDto,
    description:
      'Acknowledged events are stored on disk, except with `dryRun`. Rejected events are listed with their issues.',
  })
  async sendEvents(
    @Req() request: FastifyRequest,
    @Query() { dryRun }: SendEventsRequest,
    @CurrentCaller() { organization }: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<RecordedEvents | string> {
    const latest = latestFrom(this.clock.now(), organization);
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    const events = readEvents(request.raw.headersDistinct, body, latest);
    const isTraceSent = traceparentOf(request.headers['traceparent']) !== undefined;
    const origin = { ...originOf(request), isTraceSent };
    // An organization with a key of its own exists.
    const hasKeyOf = organization === undefined ? (slug: string) => this.keys.hasKeyOf(slug) : undefined;
    if (dryRun === 'true') {
      void reply.type(JSON_TYPE);
      await this.tokens.add(reply, await this.log.head());
      return this.queries.execute(new TryEvents({ events, latest, organization, origin, hasKeyOf }));
    }
    const record = new RecordEvents(events, latest, organization, body.length, origin, hasKeyOf);
    return this.tokens.addTo(reply, await this.commands.execute(record));
  }

  /**
   * The handshake with which a sender requests permission to deliver. The handshake requires the same key as a
   * delivery, so any origin is allowed.
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
