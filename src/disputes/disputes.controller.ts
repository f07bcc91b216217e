import { Body, Controller, Headers, HttpCode, Post, Res } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiConflictResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { ItemOf } from '../events/listed-items.js';
import { disputeItem } from '../events/types/verdicts.js';
import { Access } from '../http/access/access.js';
import { Organization, type Origin, RequestOrigin } from '../http/access/caller.js';
import { MinPosition, ConsistencyTokens } from '../http/consistency.js';
import { ErrorBody } from '../http/errors/error-body.dto.js';
import { ApiCreation, setCreated } from '../http/responses/created.js';
import { MAX_OPEN } from './dispute.js';
import { NewDisputeDto } from './disputes.dto.js';
import { FileDispute } from './file-dispute.js';

@ApiTags('Records')
@Controller('v2/asset/disputes')
export class DisputesController {
  constructor(
    private readonly commands: CommandBus,
    private readonly tokens: ConsistencyTokens,
  ) {}

  @Post()
  @HttpCode(201)
  @Access({ scope: 'write', reads: ['asset-statuses'] })
  @ApiOperation({
    summary: 'Dispute a wrong verdict',
    description:
      'Says that an asset is blocked wrongly. The present verdict is stored with the dispute, so that the people who ' +
      'decide see which source is wrong. A dispute changes no verdict by itself. The list of disputes, the feed and ' +
      'webhooks show the decision.',
  })
  @ApiCreation({
    noun: 'dispute',
    example: '/v2/asset/disputes/dp_4a7d1ed414474e4033ac29cc',
    repeats: 'key, `content` and `reason` returns the first response, so that a request can be retried safely.',
    unprocessable: 'The asset is not blocked, or the `Idempotency-Key` was used with another body.',
    response: {
      description: 'The filed dispute.',
      content: { 'application/json': { schema: { $ref: '#/components/schemas/DisputeItem' } } },
    },
  })
  @ApiConflictResponse({
    description: `The organization has an open dispute about the same asset, or ${MAX_OPEN.toLocaleString('en')} open disputes.`,
    type: ErrorBody,
  })
  async fileDispute(
    @Organization() organization: string,
    @Body() { content, reason, contact }: NewDisputeDto,
    @RequestOrigin() origin: Origin,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Headers('idempotency-key') idempotencyKey?: string,
    @MinPosition() minPosition?: number,
  ): Promise<ItemOf<'dispute'>> {
    const file = new FileDispute({ organization, content, reason, contact, idempotencyKey, origin, minPosition });
    const { dispute, replayed } = await this.tokens.addTo(reply, await this.commands.execute(file));
    setCreated(reply, `/v2/asset/disputes/${dispute.disputeId}`, replayed);
    return disputeItem(dispute);
  }
}
