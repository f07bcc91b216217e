import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { type Answer, AssetChecker } from './asset-checker.js';
import { contentIssue } from '../assets/content-issue.js';
import { TimeSlices, type Work } from '../cooperative/time-slices.js';

export interface Answers {
  /** In the order of the contents. */
  readonly results: readonly Answer[];
  /** The first four counts add up to the number of contents. */
  readonly summary: {
    readonly blocked: number;
    readonly allowed: number;
    readonly unknown: number;
    /** Results with a code. */
    readonly errored: number;
    /** Results to which an enabled source that supports the type did not contribute. */
    readonly incomplete: number;
  };
}

export class CheckAssets extends Query<Answers> {
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
  async execute({ contents, lane }: CheckAssets): Promise<Answers> {
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

  private *ask(contents: readonly unknown[], deadline: number): Work<Promise<Answer>[]> {
    const asked: Promise<Answer>[] = [];
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
