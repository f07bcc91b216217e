import { Logger } from '@nestjs/common';
import { Registry } from 'prom-client';
import type { ParsedContent, Asset } from '../assets/asset.js';
import {
  type NoVerdictCode,
  type AttributedResult,
  isFinal,
  isInherited,
  isUnanswered,
  decide,
  decideContent,
} from './verdict.js';
import { type Source, querySources } from './sources/sources.js';
import { assetKey } from '../assets/asset-key.js';
import { parseContent } from '../assets/parse-content.js';
import type { AssetCheckResponse, SourceStatusDto } from './asset-check.dto.js';
import { type LookupBudget, MAX_REQUESTS_OF_ORGANIZATION } from './lookup-source.js';
import { SuffixHashes } from './lists/host-table.js';
import { type FailureReport, reportFailures, stackOf } from '../flow/background.js';
import { limit } from '../limits.js';
import { describeCode, describeVerdict } from './verdict-message.js';

/** Maximum time in ms that a bulk check waits for lookups, unless the budget of a single check is longer. */
const MAX_BUDGET_MS = limit('lookups of a bulk check', 30_000, 'ms', 'request', 'the source reports `timeout`');

/** What a check does for a dispute. */
export interface CheckOptions {
  /** Limits the lookups. Default: each content is looked up. */
  readonly lookups?: LookupBudget | undefined;
  /**
   * Called if there is a verdict.
   * @param asset the asset whose entry decided; undefined if it cannot be told which of several assets it was
   * @param isSettled whether no source that gave no answer can change the verdict about any asset of the content
   */
  onVerdict(asset: Asset | undefined, isSettled: boolean): void;
}

const MAX_CACHE_SECONDS = 300;
/** How long a client may keep a result that a source without an answer could change. */
const UNSETTLED_CACHE_SECONDS = 10;

/** Returns for how many seconds a client may keep a result, without going beyond `validUntil` of any source. */
const cacheSecondsOf = (resultsByAsset: readonly (readonly AttributedResult[])[]): number => {
  let validUntil = Number.POSITIVE_INFINITY;
  for (const results of resultsByAsset)
    for (const { result } of results)
      if (result.validUntil !== undefined) validUntil = Math.min(validUntil, result.validUntil);
  const most = resultsByAsset.every(isFinal) ? MAX_CACHE_SECONDS : UNSETTLED_CACHE_SECONDS;
  if (validUntil === Number.POSITIVE_INFINITY) return most;
  return Math.max(0, Math.min(most, Math.floor((validUntil - Date.now()) / 1_000)));
};

const NO_ASSETS: readonly ParsedContent[] = [];

/** Returns the asset, its alternatives, and its carriers. */
const assetsOf = (parsed: ParsedContent): readonly ParsedContent[] => [
  parsed,
  ...(parsed.alternatives ?? NO_ASSETS),
  ...(parsed.carriers ?? NO_ASSETS),
];

/** Returns the asset under one of whose keys a source has this entry. */
const listedAsset = ({ keys, blockingKeys = [] }: ParsedContent, match = ''): Asset | undefined => {
  for (const key of [...keys, ...blockingKeys]) {
    const [type, content] = [key.slice(0, key.indexOf(':')), key.slice(key.indexOf(':') + 1)];
    if (content === match || assetKey({ type, content: match }) === key) return { type, content };
  }
  return undefined;
};

/** Returns a function that says of a source without a verdict if it has not answered about one of several assets. */
const unansweredOf =
  (resultsByAsset: readonly (readonly AttributedResult[])[]) =>
  (own: AttributedResult, index: number): AttributedResult =>
    (own.result.status === 'UNKNOWN'
      ? resultsByAsset.map((results) => results[index]!).find(({ result }) => isUnanswered(result))
      : undefined) ?? own;

/** Checks one asset against every source. */
export class AssetChecker {
  private readonly logger = new Logger('asset-check');
  /** One report per source id. */
  private readonly failures: ReadonlyMap<string, FailureReport>;
  /** All checks reuse this buffer, to avoid allocations. */
  private readonly hashes = new SuffixHashes();
  private readonly own: string;
  private readonly notQueried: readonly SourceStatusDto[];

  constructor(
    private readonly sources: readonly Source[],
    /** Maximum time in ms that one check waits for lookups. */
    readonly budgetMs: number,
    registry: Registry = new Registry(),
  ) {
    this.failures = new Map(sources.map(({ id }) => [id, reportFailures(`query source ${id}`, registry, stackOf)]));
    this.own = sources.find(({ of }) => of.kind === 'own')!.id;
    this.notQueried = sources.map(({ id, mode }): SourceStatusDto => ({ source: id, status: 'UNKNOWN', mode }));
  }

  /**
   * Returns how long a bulk check may wait for lookups, in ms. A source gets `MAX_REQUESTS_OF_ORGANIZATION` contents
   * at a time. Each of these rounds may take the timeout of the source, except the last round, which may take the budget of
   * a single check.
   */
  budgetOf(contents: number): number {
    const waits = Math.ceil(contents / MAX_REQUESTS_OF_ORGANIZATION) - 1;
    let longestMs = this.budgetMs;
    for (const { of, mode } of this.sources)
      if (of.kind === 'http' && mode === 'ENABLED')
        longestMs = Math.max(longestMs, Math.min(MAX_BUDGET_MS, waits * of.lookUp.settings.timeoutMs + this.budgetMs));
    return longestMs;
  }

  /**
   * Checks one content. Returns a promise only if a lookup must be awaited. Never throws or rejects.
   * @param deadline value of `performance.now()` at which lookups time out
   */
  check(
    content: string,
    organization: string,
    deadline = performance.now() + this.budgetMs,
    options?: CheckOptions,
  ): AssetCheckResponse | Promise<AssetCheckResponse> {
    let asset: AssetCheckResponse['asset'];
    try {
      const result = parseContent(content);
      if (result.code === 'parse-error') return this.withoutVerdict(result.code, content);
      const { type, name } = result.parsed ?? result.internalAddress;
      asset = { type, content: name };
      if (result.code !== undefined) return this.withoutVerdict(result.code, content, asset);
      const { parsed } = result;
      const assets = assetsOf(parsed);
      const pending = assets.map((one) =>
        this.querySourcesFor(one.opened ?? content, one, organization, deadline, options),
      );
      if (pending.every((one) => !(one instanceof Promise)))
        return this.toResponse(content, assets, pending as (readonly AttributedResult[])[], options);
      return Promise.all(pending.map((one) => Promise.resolve(one)))
        .then((all) => this.toResponse(content, assets, all, options))
        .catch((error: unknown) => this.failed(error, content, asset));
    } catch (error) {
      return this.failed(error, content, asset);
    }
  }

  /** The result of a bulk check for content that a single check would reject with 400. */
  get invalidContent(): AssetCheckResponse {
    return this.withoutVerdict('parse-error', undefined);
  }

  private withoutVerdict(
    code: NoVerdictCode,
    content: string | undefined,
    asset?: AssetCheckResponse['asset'],
  ): AssetCheckResponse {
    return {
      status: 'UNKNOWN',
      source: this.own,
      reason: 'not-found',
      sources: this.notQueried,
      message: describeCode(code, content),
      asset,
      code,
      cacheSeconds: code === 'internal-error' ? 0 : MAX_CACHE_SECONDS,
    };
  }

  private querySourcesFor(
    content: string,
    parsed: ParsedContent,
    organization: string,
    deadline: number,
    options: CheckOptions | undefined,
  ): readonly AttributedResult[] | Promise<readonly AttributedResult[]> {
    const query = {
      content: content.trim(),
      parsed,
      organization,
      deadline,
      hashes: this.hashes,
      lookups: options?.lookups,
    };
    return querySources(this.sources, query, (source, error) => this.onFailure(source, error));
  }

  /** @param resultsByAsset results for each of `assets` */
  private toResponse(
    content: string,
    assets: readonly ParsedContent[],
    resultsByAsset: readonly (readonly AttributedResult[])[],
    options: CheckOptions | undefined,
  ): AssetCheckResponse {
    const parsed = assets[0]!;
    const verdict = decideContent(
      resultsByAsset.map(decide),
      parsed.alternatives?.length ?? 0,
      parsed.isUncertain === true,
      this.own,
    );
    const deciding = resultsByAsset[verdict.index]!;
    const results = verdict.status === 'UNKNOWN' ? deciding.map(unansweredOf(resultsByAsset)) : deciding;
    const decider = assets[verdict.index]!;
    const decisive = results.find(({ source }) => source === verdict.source)!;
    options?.onVerdict(
      verdict.status === 'BLOCKED' ? this.decidedBy(assets, decider, decisive) : undefined,
      resultsByAsset.every(isFinal),
    );
    return {
      status: verdict.status,
      source: verdict.source,
      reason: verdict.reason,
      sources: results.map(({ source, mode, result: { status, reason, match, guardedBy } }) => ({
        source,
        status,
        mode,
        reason,
        match,
        guardedBy,
      })),
      message: describeVerdict(content.trim(), decider, verdict, results, this.sources),
      asset: { type: parsed.type, content: parsed.name },
      cacheSeconds: cacheSecondsOf(resultsByAsset),
    };
  }

  /** Returns the asset that a deciding result is about; undefined if the result is about a text that opens several. */
  private decidedBy(
    [parsed, ...others]: readonly ParsedContent[],
    decider: ParsedContent,
    { source, result }: AttributedResult,
  ): Asset | undefined {
    const asset = { type: decider.type, content: decider.name };
    if (this.sources.find(({ id }) => id === source)!.of.kind === 'http') {
      const isWholeText =
        decider.opened === undefined || parsed!.alternatives?.some(({ opened }) => opened === undefined);
      return others.length > 0 && isWholeText === true ? undefined : asset;
    }
    return isInherited(result) ? asset : (listedAsset(decider, result.match) ?? asset);
  }

  private failed(error: unknown, content: string, asset: AssetCheckResponse['asset']): AssetCheckResponse {
    this.logger.error('An asset check failed', error instanceof Error ? error.stack : error);
    return this.withoutVerdict('internal-error', content, asset);
  }

  private onFailure(source: string, error: unknown): void {
    this.failures.get(source)!.failed(error);
  }
}
