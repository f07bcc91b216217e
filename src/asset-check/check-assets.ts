import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import type { AssetCheckResponse, BulkAssetCheckResponse } from './asset-check.dto.js';
import type { AtPosition } from '../event-log/command-queue.js';
import { ConfiguredSources } from './sources/configured-sources.js';
import { AssetChecker, type CheckOptions } from './asset-checker.js';
import { cut } from './verdict-message.js';
import { contentIssue } from '../assets/asset.js';
import { arrayJson } from '../http/json.js';
import { isUnanswered } from './verdict.js';
import { TimeSlices, type Work } from '../flow/turns.js';
import { ConcurrencyLimit, declareQueue } from '../flow/concurrency-limit.js';
import { GetVerdicts, type PresentVerdict } from '../verdicts.js';

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

export class CheckAssets extends Query<AtPosition<BulkAssetCheckResponse>> {
  constructor(
    readonly contents: readonly unknown[],
    /** Checks of different organizations share CPU time and lookups fairly. */
    readonly organization = '',
    /** The results reflect at least this position of the log. -1 means that any position is enough. */
    readonly minPosition = -1,
  ) {
    super();
  }
}

/**
 * Truncates the normalized content, which can be three times as long as the content sent. A bulk response has up to
 * 1,000 results.
 */
const withTruncatedAsset = (answer: AssetCheckResponse): AssetCheckResponse =>
  answer.asset === undefined
    ? answer
    : { ...answer, asset: { type: answer.asset.type, content: cut(answer.asset.content) } };

/** A result that waited for others at most this long, in ms, is as fresh as a single one. */
const FRESH_MS = 50;

/** Returns a result as it is when the others are complete, so that no client keeps it beyond an expiry. */
const keptSince = (result: AssetCheckResponse, ms: number): AssetCheckResponse =>
  ms < FRESH_MS ? result : { ...result, cacheSeconds: Math.max(0, result.cacheSeconds - Math.ceil(ms / 1_000)) };

/** Returns the same text as `JSON.stringify`, but yields after each result. */
export function* bulkJson({ results, summary }: BulkAssetCheckResponse): Work<string> {
  return `{"results":${yield* arrayJson(results)},"summary":${JSON.stringify(summary)}}`;
}

@QueryHandler(CheckAssets)
export class CheckAssetsHandler implements IQueryHandler<CheckAssets> {
  constructor(
    private readonly assetCheck: AssetChecker,
    private readonly slices: TimeSlices,
    private readonly configured: ConfiguredSources,
  ) {}

  /**
   * All contents share one time budget, which grows with the number of contents.
   * @throws Unavailable if this service's own statuses do not include `minPosition` yet
   */
  async execute(query: CheckAssets): Promise<AtPosition<BulkAssetCheckResponse>> {
    const { results: checked, position } = await this.check(query);
    const results = checked.map(withTruncatedAsset);
    const summary = { blocked: 0, allowed: 0, unknown: 0, errored: 0, incomplete: 0 };
    for (const { status, code, sources } of results) {
      if (sources.some(isUnanswered)) summary.incomplete += 1;
      if (code !== undefined) summary.errored += 1;
      else if (status === 'BLOCKED') summary.blocked += 1;
      else if (status === 'ALLOWED') summary.allowed += 1;
      else summary.unknown += 1;
    }
    return { result: { results, summary }, position };
  }

  /**
   * As `execute`, but does not truncate the assets.
   * @param optionsOf the options for the content with this index
   */
  async check(
    { contents, organization, minPosition }: CheckAssets,
    optionsOf?: (index: number) => CheckOptions,
  ): Promise<{ readonly results: readonly AssetCheckResponse[]; readonly position: bigint }> {
    const { own } = this.configured;
    if (own !== undefined && minPosition >= 0) await own.catchUpTo(minPosition);
    const position = BigInt(own?.position ?? -1);
    const deadline = performance.now() + this.assetCheck.budgetOf(contents.length);
    const checks = await this.slices.run(organization, this.startChecks(contents, organization, deadline, optionsOf));
    const decided = await Promise.all(
      checks.map(async (check) => ({ result: await check, decidedAt: performance.now() })),
    );
    const endedAt = performance.now();
    return { results: decided.map(({ result, decidedAt }) => keptSince(result, endedAt - decidedAt)), position };
  }

  private *startChecks(
    contents: readonly unknown[],
    organization: string,
    deadline: number,
    optionsOf?: (index: number) => CheckOptions,
  ): Work<Promise<AssetCheckResponse>[]> {
    const checks: Promise<AssetCheckResponse>[] = [];
    for (const [index, content] of contents.entries()) {
      const { assetCheck } = this;
      const answer =
        contentIssue(content) === undefined
          ? assetCheck.check(content as string, organization, deadline, optionsOf?.(index))
          : assetCheck.invalidContent;
      checks.push(Promise.resolve(answer));
      yield;
    }
    return checks;
  }
}

/** The limit for verdicts of disputes. A page of disputes is checked like a bulk check. */
const VERDICTS = declareQueue({
  name: 'verdicts of disputes',
  maxRunning: 2,
  maxWaiting: 12,
  waitTimeoutMs: 5_000,
});

@QueryHandler(GetVerdicts)
export class GetVerdictsHandler implements IQueryHandler<GetVerdicts> {
  private readonly limit = new ConcurrencyLimit(VERDICTS);

  constructor(private readonly checks: CheckAssetsHandler) {}

  /**
   * @throws TooManyRequests if too many verdicts of the organization are waiting
   * @throws Unavailable if this service's own statuses do not include `minPosition` yet
   */
  execute(query: GetVerdicts): Promise<readonly PresentVerdict[]> {
    const { contents, organization, minPosition, maxLookups } = query;
    return this.limit.run(organization, undefined, async () => {
      const lookups = maxLookups === undefined ? undefined : { left: maxLookups };
      const decided: Omit<PresentVerdict, 'verdict'>[] = contents.map(() => ({ asset: undefined, isSettled: false }));
      const optionsOf = (index: number): CheckOptions => ({
        lookups,
        onVerdict: (asset, isSettled) => {
          decided[index] = { asset, isSettled };
        },
      });
      const { results } = await this.checks.check(new CheckAssets(contents, organization, minPosition), optionsOf);
      return results.map(({ status, source, reason, sources, message }, index) => ({
        verdict: { status, source, reason, sources, message },
        ...decided[index]!,
      }));
    });
  }
}
