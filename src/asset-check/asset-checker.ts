import { Logger } from '@nestjs/common';
import { Registry } from 'prom-client';
import { parseContent, type ParsedContent } from '../assets/parse-content.js';
import type { AssetCheckResponse, SourceAnswerDto } from './asset-check.dto.js';
import { describe, describeCode } from './message.js';
import type { Code } from './opinion.js';
import { MAX_AT_ONCE } from './lookups/lookup-source.js';
import { SuffixHashes } from './lists/suffix-hashes.js';
import { querySources, type Source } from './sources/sources.js';
import { type FailureReport, reportFailures, stackOf } from '../flow/background/failure-report.js';
import { decide, decidingIndex, type SourceOpinion } from './verdict.js';

/** The longest a batch waits for lookups, unless a single check may wait longer. ms */
const MAX_BUDGET_MS = 30_000;

const NO_CARRIERS: readonly ParsedContent[] = [];

/** Checks one asset against every source. */
export class AssetChecker {
  private readonly logger = new Logger('asset-check');
  /** By source. */
  private readonly failures: ReadonlyMap<string, FailureReport>;
  /** Reused, so that a check makes no garbage. */
  private readonly hashes = new SuffixHashes();
  private readonly own: string;
  private readonly silent: readonly SourceAnswerDto[];

  constructor(
    private readonly sources: readonly Source[],
    /** How long one check waits for lookups. ms */
    readonly budgetMs: number,
    registry: Registry = new Registry(),
  ) {
    this.failures = new Map(sources.map(({ id }) => [id, reportFailures(`ask source ${id}`, registry, stackOf)]));
    this.own = sources.find(({ of }) => of.kind === 'own')!.id;
    this.silent = sources.map(({ id, mode }): SourceAnswerDto => ({ source: id, status: 'UNKNOWN', mode }));
  }

  /**
   * How long a batch may wait for lookups, in ms. A source takes `MAX_AT_ONCE` contents at once, so each round may use
   * the source's whole timeout, and the last one a single check's budget.
   */
  budgetOf(contents: number): number {
    const waits = Math.ceil(contents / MAX_AT_ONCE) - 1;
    let most = this.budgetMs;
    for (const { of, mode } of this.sources)
      if (of.kind === 'http' && mode === 'ENABLED')
        most = Math.max(most, Math.min(MAX_BUDGET_MS, waits * of.lookUp.settings.timeoutMs + this.budgetMs));
    return most;
  }

  /**
   * Synchronous unless a lookup has to be awaited. Never throws or rejects.
   * @param deadline `performance.now()` until which lookups may take
   */
  check(
    content: string,
    deadline = performance.now() + this.budgetMs,
  ): AssetCheckResponse | Promise<AssetCheckResponse> {
    let asset: AssetCheckResponse['asset'];
    try {
      const read = parseContent(content);
      if (read.code === 'parse-error') return this.refusal(read.code, content);
      const { type, name } = read.reading ?? read.internal;
      asset = { type, content: name };
      if (read.code !== undefined) return this.refusal(read.code, content, asset);
      const { reading } = read;
      const answers = [reading, ...(reading.carriers ?? NO_CARRIERS)].map((one) =>
        this.ask(one.opened ?? content, one, deadline),
      );
      if (answers.every((one) => !(one instanceof Promise)))
        return this.answer(content, reading, answers as (readonly SourceOpinion[])[]);
      return Promise.all(answers.map((one) => Promise.resolve(one)))
        .then((all) => this.answer(content, reading, all))
        .catch((error: unknown) => this.failed(error, content, asset));
    } catch (error) {
      return this.failed(error, content, asset);
    }
  }

  /** The answer to content that would be invalid as a request of its own. */
  get unreadable(): AssetCheckResponse {
    return this.refusal('parse-error', undefined);
  }

  private refusal(code: Code, content: string | undefined, asset?: AssetCheckResponse['asset']): AssetCheckResponse {
    return {
      status: 'UNKNOWN',
      source: this.own,
      reason: 'not-found',
      sources: this.silent,
      message: describeCode(code, content),
      asset,
      code,
    };
  }

  private ask(
    content: string,
    reading: ParsedContent,
    deadline: number,
  ): readonly SourceOpinion[] | Promise<readonly SourceOpinion[]> {
    const question = { content: content.trim(), reading, deadline, hashes: this.hashes };
    return querySources(this.sources, question, (source, error) => this.onFailure(source, error));
  }

  /** @param asked of the asset, then of each of its carriers, in the order of `reading.carriers` */
  private answer(
    content: string,
    reading: ParsedContent,
    asked: readonly (readonly SourceOpinion[])[],
  ): AssetCheckResponse {
    const index = decidingIndex(asked.map(decide));
    const opinions = asked[index]!;
    const verdict = decide(opinions);
    const decider = index === 0 ? reading : reading.carriers![index - 1]!;
    return {
      status: verdict.status,
      source: verdict.source,
      reason: verdict.reason,
      sources: opinions.map(({ source, mode, opinion: { status, reason, match } }) => ({
        source,
        status,
        mode,
        reason,
        match,
      })),
      message: describe(content.trim(), decider, verdict, opinions, this.sources),
      asset: { type: reading.type, content: reading.name },
    };
  }

  private failed(error: unknown, content: string, asset: AssetCheckResponse['asset']): AssetCheckResponse {
    this.logger.error('An asset check failed', error instanceof Error ? error.stack : error);
    return this.refusal('internal-error', content, asset);
  }

  private onFailure(source: string, error: unknown): void {
    this.failures.get(source)!.failed(error);
  }
}
