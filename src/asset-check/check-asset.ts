import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import type { AssetCheckResponse } from './asset-check.dto.js';
import type { AtPosition } from '../event-log/command-queue.js';
import { SourceRefresh } from './sources/source-refresh.js';
import { AssetChecker } from './asset-checker.js';

/** One check, and the position of the log that this service's own statuses include. */
export class CheckAsset extends Query<AtPosition<AssetCheckResponse>> {
  constructor(
    readonly content: string,
    /** The answer includes at least this position. */
    readonly minPosition = -1,
  ) {
    super();
  }
}

@QueryHandler(CheckAsset)
export class CheckAssetHandler implements IQueryHandler<CheckAsset> {
  constructor(
    private readonly assetCheck: AssetChecker,
    private readonly refresh: SourceRefresh,
  ) {}

  /** @throws Unavailable if the own statuses do not include the position */
  async execute({ content, minPosition }: CheckAsset): Promise<AtPosition<AssetCheckResponse>> {
    const { own } = this.refresh;
    if (own !== undefined && minPosition >= 0) await own.reach(minPosition);
    // The statuses are read before anything else can change them.
    const position = BigInt(own?.position ?? -1);
    return { result: await this.assetCheck.check(content), position };
  }
}
