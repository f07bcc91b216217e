import { Body, Controller, Get, HttpCode, Param, Post, Query, Res } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Access } from '../http/access/access.js';
import { Organization, type Origin, RequestOrigin } from '../http/access/caller.js';
import { ConsistencyTokens } from '../http/consistency.js';
import { ApiFailure } from '../http/errors/error-body.dto.js';
import { AttemptListDto, TestResultDto } from './attempts.dto.js';
import { ListAttempts, showWebhook } from './list-webhooks.js';
import { ReplayWebhook, RotateSecret } from './change-webhook.js';
import { TestWebhook } from './test-webhook.js';
import {
  AttemptsRequest,
  ReplayDto,
  RotationDto,
  NO_SUCH_WEBHOOK,
  WEBHOOK_ID,
  RotatedSecretDto,
  WebhookDto,
} from './webhooks.dto.js';

const READS = ['webhooks'] as const;
const MAX_ATTEMPTS = '100';

/** The secret, tests, replays and delivery attempts of a webhook. */
@ApiTags('Webhooks')
@Controller('v2/organization/webhooks')
export class DeliveriesController {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly tokens: ConsistencyTokens,
  ) {}

  @Post(':id/rotate')
  @HttpCode(200)
  @Access({ scope: 'write' })
  @ApiOperation({
    summary: 'Rotate the secret of a webhook',
    description: 'For 24 hours, each delivery is signed with both the new secret and the previous one.',
  })
  @ApiParam(WEBHOOK_ID)
  @ApiOkResponse({ description: 'The new secret. It is shown only in this response.', type: RotatedSecretDto })
  @ApiFailure(404, NO_SUCH_WEBHOOK)
  @ApiFailure(409, 'The secret was rotated within the last 24 hours, and `force` is not `true`.')
  async rotateWebhookSecret(
    @Organization() organization: string,
    @Param('id') id: string,
    @Body() { force = false }: RotationDto,
    @RequestOrigin() origin: Origin,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<RotatedSecretDto> {
    const rotate = new RotateSecret({ organization, webhookId: id, force, origin });
    return this.tokens.addTo(reply, await this.commands.execute(rotate));
  }

  @Post(':id/test')
  @HttpCode(200)
  @Access({ scope: 'write', reads: READS })
  @ApiOperation({
    summary: 'Send a test event to a webhook',
    description:
      'Sends a `webhook.test` event to the endpoint, whatever the state of the webhook, without affecting deliveries. ' +
      'Returns the endpoint’s response within about 20 seconds.',
  })
  @ApiParam(WEBHOOK_ID)
  @ApiOkResponse({
    description: 'The test event was sent. If `error` is absent, the test succeeded.',
    type: TestResultDto,
  })
  @ApiFailure(404, NO_SUCH_WEBHOOK)
  async testWebhook(
    @Organization() organization: string,
    @Param('id') id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<TestResultDto> {
    const test = new TestWebhook({ organization, webhookId: id });
    return this.tokens.addTo(reply, await this.commands.execute(test));
  }

  @Post(':id/replay')
  @HttpCode(200)
  @Access({ scope: 'write' })
  @ApiOperation({
    summary: 'Replay the changes since a point in time',
    description: 'Moves the cursor to `from`. If `from` is after the cursor, the changes in between are skipped.',
  })
  @ApiParam(WEBHOOK_ID)
  @ApiOkResponse({ description: 'The webhook. Its cursor has been moved.', type: WebhookDto })
  @ApiFailure(404, NO_SUCH_WEBHOOK)
  async replayWebhook(
    @Organization() organization: string,
    @Param('id') id: string,
    @Body() { from }: ReplayDto,
    @RequestOrigin() origin: Origin,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WebhookDto> {
    const replay = new ReplayWebhook({ organization, webhookId: id, from, origin });
    await this.tokens.addTo(reply, await this.commands.execute(replay));
    return (await showWebhook(this.queries, organization, id)).result;
  }

  @Get(':id/attempts')
  @Access({ scope: 'read', reads: READS })
  @ApiOperation({
    summary: 'List the newest delivery attempts of a webhook, including tests',
    description:
      'Each attempt shows the endpoint’s response. If a record was set aside after an attempt, the attempt names the record.',
  })
  @ApiParam(WEBHOOK_ID)
  @ApiOkResponse({ description: 'At most 100 attempts, newest first.', type: AttemptListDto })
  @ApiFailure(404, NO_SUCH_WEBHOOK)
  async listWebhookAttempts(
    @Organization() organization: string,
    @Param('id') id: string,
    @Query() { limit = MAX_ATTEMPTS }: AttemptsRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<AttemptListDto> {
    const list = new ListAttempts({ organization, webhookId: id, limit: Number(limit) });
    return { attempts: await this.tokens.addTo(reply, await this.queries.execute(list)) };
  }
}
