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

/** Bytes; room for 1,000 contents of 4,096 characters each. */
const MAX_BULK = 5 * 1_024 * 1_024;
/** Leaves room for unknown fields. */
const BULK_BOUNDS = { depth: 32, values: 4_096 };

@ApiTags('Asset check')
@Controller('v2/asset')
export class AssetCheckController {
  constructor(private readonly queries: QueryBus) {}

  @Post('check')
  @HttpCode(200)
  @Access({ scope: 'read' })
  @ApiOperation({ summary: 'Check one asset: blocked, allowed or unknown, which source says so, and why' })
  @ApiOkResponse({ type: AssetCheckAnswer, description: 'What the sources say; any status is a 200.' })
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
    summary: "An asset's history: this service's own statuses, and since when each list has had it",
    description: 'List times are as observed by this service; they are kept across refreshes and restarts.',
  })
  @ApiOkResponse({ type: AssetHistoryAnswer, description: 'The history, newest first.' })
  getAssetHistory(
    @Organization() organization: string,
    @Body() { content }: AssetCheckRequest,
  ): Promise<AssetHistoryAnswer> {
    return this.queries.execute(new GetAssetHistory(organization, content));
  }
}
