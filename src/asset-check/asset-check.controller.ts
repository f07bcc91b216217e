import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Access } from '../http/access/access.js';
import { Organization } from '../http/access/caller.js';
import {
  AssetCheckAnswer,
  AssetCheckRequest,
  AssetHistoryAnswer,
  BulkAssetCheckAnswer,
  BulkAssetCheckRequest,
} from './asset-check.dto.js';
import { CheckAsset } from './check-asset.js';
import { CheckAssets } from './check-assets.js';
import { GetAssetHistory } from './get-asset-history.js';

/** 1,000 contents of 4,096 characters and more. Bytes. */
const MAX_BULK = 5 * 1_024 * 1_024;
/** Room for fields that nobody asked for. */
const BULK_BOUNDS = { depth: 32, values: 4_096 };

@ApiTags('Asset check')
@Controller('v2/asset')
export class AssetCheckController {
  constructor(private readonly queries: QueryBus) {}

  @Post('check')
  @HttpCode(200)
  @Access({ scope: 'read' })
  @ApiOperation({ summary: 'Check one asset: known bad, known good or unknown, who says so and why' })
  @ApiOkResponse({ type: AssetCheckAnswer, description: 'What the sources say, whatever the status.' })
  checkAsset(@Body() { content }: AssetCheckRequest): Promise<AssetCheckAnswer> {
    return this.queries.execute(new CheckAsset(content));
  }

  @Post('check/bulk')
  @HttpCode(200)
  @Access({ scope: 'read', bodyLimit: MAX_BULK, json: BULK_BOUNDS })
  @ApiOperation({ summary: 'Check up to 1,000 assets at once' })
  @ApiOkResponse({ type: BulkAssetCheckAnswer, description: 'One answer for each content, in order.' })
  checkAssets(
    @Body() { contents }: BulkAssetCheckRequest,
    @Organization() organization: string,
  ): Promise<BulkAssetCheckAnswer> {
    return this.queries.execute(new CheckAssets(contents, organization));
  }

  @Post('history')
  @HttpCode(200)
  @Access({ scope: 'read' })
  @ApiOperation({
    summary: "An asset's past: this service's own statuses of it, and since when each list has it",
    description:
      'What lists say is as far as this service saw it: it is kept from refresh to refresh, and over restarts.',
  })
  @ApiOkResponse({ type: AssetHistoryAnswer, description: 'What is known, the newest first.' })
  getAssetHistory(
    @Organization() organization: string,
    @Body() { content }: AssetCheckRequest,
  ): Promise<AssetHistoryAnswer> {
    return this.queries.execute(new GetAssetHistory(organization, content));
  }
}
