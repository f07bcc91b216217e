import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import type { AssetCheckAnswer, BulkAssetCheckAnswer } from './asset-check.dto.js';
import { AssetChecker } from './asset-checker.js';
import { contentIssue } from '../assets/content-issue.js';
import { TimeSlices, type Work } from '../cooperative/time-slices.js';

export class CheckAssets extends Query<BulkAssetCheckAnswer> {
  constructor(
    readonly contents: readonly unknown[],
    /** Callers on different lanes take turns. */
    readonly lane = '',
  ) {
    super();
  }
}

@QueryHandler(CheckAssets)
export class CheckAssetsHandler implements IQueryHandler<CheckAssets> {
  constructor(
    private readonly assetCheck: AssetChecker,
    private readonly slices: TimeSlices,
  ) {}

  /** All contents share one budget, which grows with their number. */
  async execute({ contents, lane }: CheckAssets): Promise<BulkAssetCheckAnswer> {
    const deadline = performance.now() + this.assetCheck.budgetOf(contents.length);
    const results = await Promise.all(await this.slices.run(lane, this.ask(contents, deadline)));
    const summary = { blocked: 0, allowed: 0, unknown: 0, errored: 0, incomplete: 0 };
    for (const { status, code, sources } of results) {
      if (sources.some(({ reason }) => reason === 'timeout' || reason === 'source-error')) summary.incomplete += 1;
      if (code !== undefined) summary.errored += 1;
      else if (status === 'BLOCKED') summary.blocked += 1;
      else if (status === 'ALLOWED') summary.allowed += 1;
      else summary.unknown += 1;
    }
    return { results, summary };
  }

  private *ask(contents: readonly unknown[], deadline: number): Work<Promise<AssetCheckAnswer>[]> {
    const asked: Promise<AssetCheckAnswer>[] = [];
    for (const content of contents) {
      const { assetCheck } = this;
      const answer =
        contentIssue(content) === undefined ? assetCheck.check(content as string, deadline) : assetCheck.unreadable;
      asked.push(Promise.resolve(answer));
      yield;
    }
    return asked;
  }
}
