import { Body, Controller, Header, HttpCode, Post, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { ConcurrencyLimit, declareQueue } from '../flow/concurrency-limit.js';
import { TimeSlices } from '../flow/turns.js';
import { Access } from '../http/access/access.js';
import { Organization } from '../http/access/caller.js';
import { MinPosition, ConsistencyTokens } from '../http/consistency.js';
import { BULK } from '../http/byte-limits.js';
import {
  AssetCheckResponse,
  AssetCheckRequest,
  AssetHistoryResponse,
  BulkAssetCheckResponse,
  BulkAssetCheckRequest,
} from './asset-check.dto.js';
import { CheckAsset, bulkJson, CheckAssets } from './check-assets.js';
import { GetAssetHistory } from './get-asset-history.js';

const READ_MODELS = ['asset-statuses'] as const;
/**
 * The limit for bulk checks. A bulk check keeps 1 to 2 MB in memory until its response is sent, and may wait for
 * lookups meanwhile.
 */
const BULK_CHECKS = declareQueue({
  name: 'bulk checks',
  maxRunning: 4,
  maxWaiting: 12,
  waitTimeoutMs: 5_000,
});

@ApiTags('Asset check')
@Controller('v2/asset')
export class AssetCheckController {
  private readonly bulkChecks = new ConcurrencyLimit(BULK_CHECKS);

  constructor(
    private readonly queries: QueryBus,
    private readonly slices: TimeSlices,
    private readonly tokens: ConsistencyTokens,
  ) {}

  @Post('check')
  @HttpCode(200)
  @Access({ scope: 'read', reads: READ_MODELS })
  @ApiOperation({
    summary: 'Check one asset',
    description:
      'Returns whether the asset is blocked, allowed or unknown, which source says so, and why. An asset is a link, a ' +
      'host, a wallet address, a profile, an e-mail address or IPFS content. UNKNOWN never means safe.',
  })
  @ApiOkResponse({
    type: AssetCheckResponse,
    description: 'The result. Every asset status is returned with the status code 200.',
  })
  async checkAsset(
    @Body() { content }: AssetCheckRequest,
    @Organization() organization: string,
    @Res({ passthrough: true }) reply: FastifyReply,
    @MinPosition() minPosition?: number,
  ): Promise<AssetCheckResponse> {
    return this.tokens.addTo(reply, await this.queries.execute(new CheckAsset(content, organization, minPosition)));
  }

  @Post('check/bulk')
  @HttpCode(200)
  @Access({ scope: 'read', reads: READ_MODELS, ...BULK })
  @ApiOperation({
    summary: 'Check up to 1,000 assets at once',
    description: 'Equivalent to one check for each content. The results are in the order of the contents.',
  })
  @Header('content-type', 'application/json; charset=utf-8')
  @ApiOkResponse({
    type: BulkAssetCheckResponse,
    description: 'One result for each content, in the order of the contents.',
  })
  async checkAssets(
    @Body() { contents }: BulkAssetCheckRequest,
    @Organization() organization: string,
    @Res({ passthrough: true }) reply: FastifyReply,
    @MinPosition() minPosition?: number,
  ): Promise<string> {
    return this.bulkChecks.run(organization, undefined, async () => {
      const check = new CheckAssets(contents, organization, minPosition);
      const answer = await this.tokens.addTo(reply, await this.queries.execute(check));
      return this.slices.run(organization, bulkJson(answer));
    });
  }

  @Post('history')
  @HttpCode(200)
  @Access({ scope: 'read', reads: READ_MODELS })
  @ApiOperation({
    summary: 'Get the history of an asset',
    description:
      'Returns this service’s own statuses of the asset, and the time since which each list has contained the asset. These ' +
      'times are as observed by this service, and are kept across refreshes and restarts.',
  })
  @ApiOkResponse({
    type: AssetHistoryResponse,
    description: 'The statuses of the asset, newest first, and its state in each list.',
  })
  async getAssetHistory(
    @Organization() organization: string,
    @Body() { content }: AssetCheckRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<AssetHistoryResponse> {
    return this.tokens.addTo(reply, await this.queries.execute(new GetAssetHistory(organization, content)));
  }
}
