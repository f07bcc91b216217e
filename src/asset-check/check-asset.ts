import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import type { AssetCheckResponse } from './asset-check.dto.js';
import type { AtPosition } from '../event-log/command-queue.js';
import { ConfiguredSources } from './sources/configured-sources.js';
import { AssetChecker } from './asset-checker.js';

/** Checks one asset. Also returns the position of the log up to which this service's own statuses are current. */
export class CheckAsset extends Query<AtPosition<AssetCheckResponse>> {
  constructor(
    readonly content: string,
    readonly organization: string,
    /** The result reflects at least this position of the log. -1 means that any position is enough. */
    readonly minPosition = -1,
  ) {
    super();
  }
}

@QueryHandler(CheckAsset)
export class CheckAssetHandler implements IQueryHandler<CheckAsset> {
  constructor(
    private readonly assetCheck: AssetChecker,
    private readonly configured: ConfiguredSources,
  ) {}

  /** @throws Unavailable if this service's own statuses do not include `minPosition` yet */
  async execute({ content, organization, minPosition }: CheckAsset): Promise<AtPosition<AssetCheckResponse>> {
    const { own } = this.configured;
    if (own !== undefined && minPosition >= 0) await own.catchUpTo(minPosition);
    // The position is read before the check, because the statuses may advance while a lookup is awaited.
    const position = BigInt(own?.position ?? -1);
    return { result: await this.assetCheck.check(content, organization), position };
  }
}
