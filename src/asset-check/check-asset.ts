import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { type Answer, AssetCheck } from './asset-check.js';

export class CheckAsset extends Query<Answer> {
  constructor(readonly content: string) {
    super();
  }
}

@QueryHandler(CheckAsset)
export class CheckAssetHandler implements IQueryHandler<CheckAsset> {
  constructor(private readonly assetCheck: AssetCheck) {}

  async execute({ content }: CheckAsset): Promise<Answer> {
    return this.assetCheck.check(content);
  }
}
