import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import type { AssetCheckAnswer } from './asset-check.dto.js';
import { AssetChecker } from './asset-checker.js';

export class CheckAsset extends Query<AssetCheckAnswer> {
  constructor(readonly content: string) {
    super();
  }
}

@QueryHandler(CheckAsset)
export class CheckAssetHandler implements IQueryHandler<CheckAsset> {
  constructor(private readonly assetCheck: AssetChecker) {}

  async execute({ content }: CheckAsset): Promise<AssetCheckAnswer> {
    return this.assetCheck.check(content);
  }
}
