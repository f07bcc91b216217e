import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import type { AssetCheckResponse, BulkAssetCheckResponse } from './asset-check.dto.js';
import type { AtPosition } from '../event-log/command-queue.js';
import { SourceRefresh } from './sources/source-refresh.js';
import { AssetChecker } from './asset-checker.js';
import { contentIssue } from '../assets/content-issue.js';
import { arrayJson } from '../json/array-json.js';
import { cut } from './message.js';
import { TimeSlices, type Work } from '../flow/time-slices.js';

export class CheckAssets extends Query<AtPosition<BulkAssetCheckResponse>> {
  constructor(
    readonly contents: readonly unknown[],
    /** Callers on different lanes take turns. */
    readonly owner = '',
    /** The answer includes at least this position. */
    readonly minPosition = -1,
  ) {
    super();
  }
}

/** The content as understood can take three times the bytes of the content as sent, a thousand times over. */
const withShortAsset = (answer: AssetCheckResponse): AssetCheckResponse =>
  answer.asset === undefined
    ? answer
    : { ...answer, asset: { type: answer.asset.type, content: cut(answer.asset.content) } };

/** Equals `JSON.stringify`, one result at a time. */
export function* bulkJson({ results, summary }: BulkAssetCheckResponse): Work<string> {
  return `{"results":${yield* arrayJson(results)},"summary":${JSON.stringify(summary)}}`;
}

@QueryHandler(CheckAssets)
export class CheckAssetsHandler implements IQueryHandler<CheckAssets> {
  constructor(
    private readonly assetCheck: AssetChecker,
    private readonly slices: TimeSlices,
    private readonly refresh: SourceRefresh,
  ) {}

  /**
   * All contents share one budget, which grows with their number.
   * @throws Unavailable if the own statuses do not include the position
   */
  async execute({ contents, owner, minPosition }: CheckAssets): Promise<AtPosition<BulkAssetCheckResponse>> {
    const { own } = this.refresh;
    if (own !== undefined && minPosition >= 0) await own.reach(minPosition);
    const position = BigInt(own?.position ?? -1);
    const deadline = performance.now() + this.assetCheck.budgetOf(contents.length);
    const checked = await Promise.all(await this.slices.run(owner, this.ask(contents, deadline)));
    const results = checked.map(withShortAsset);
    const summary = { blocked: 0, allowed: 0, unknown: 0, errored: 0, incomplete: 0 };
    for (const { status, code, sources } of results) {
      if (sources.some(({ reason }) => reason === 'timeout' || reason === 'source-error')) summary.incomplete += 1;
      if (code !== undefined) summary.errored += 1;
      else if (status === 'BLOCKED') summary.blocked += 1;
      else if (status === 'ALLOWED') summary.allowed += 1;
      else summary.unknown += 1;
    }
    return { result: { results, summary }, position };
  }

  private *ask(contents: readonly unknown[], deadline: number): Work<Promise<AssetCheckResponse>[]> {
    const asked: Promise<AssetCheckResponse>[] = [];
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
