import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { type Answer, AssetChecker } from './asset-checker.js';

export class CheckAsset extends Query<Answer> {
  constructor(readonly content: string) {
    super();
  }
}

@QueryHandler(CheckAsset)
export class CheckAssetHandler implements IQueryHandler<CheckAsset> {
  constructor(private readonly assetCheck: AssetChecker) {}

  async execute({ content }: CheckAsset): Promise<Answer> {
    return this.assetCheck.check(content);
  }
}
