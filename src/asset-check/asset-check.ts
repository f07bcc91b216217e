import { Logger } from '@nestjs/common';
import { readContent, type Reading } from '../assets/read-content.js';
import type { AssetStatus } from '../events/asset-statuses.js';
import { describe, INTERNAL_ERROR_MESSAGE, INTERNAL_SCHEME_MESSAGE, PARSE_ERROR_MESSAGE } from './message.js';
import type { Mode, Reason } from './opinion.js';
import { askAll, type Source } from './sources/sources.js';
import { decide, type Voice } from './verdict.js';

export const CODES = ['parse-error', 'internal-scheme', 'internal-error'] as const;
export type Code = (typeof CODES)[number];

export interface SourceAnswer {
  readonly source: string;
  readonly status: AssetStatus;
  readonly mode: Mode;
  readonly reason?: Reason;
  readonly match?: string;
}

export interface Answer {
  readonly status: AssetStatus;
  /** The source that decided, the own one where none did. */
  readonly source: string;
  readonly reason?: Reason;
  readonly sources: readonly SourceAnswer[];
  readonly message: string;
  readonly code?: Code;
}

const MESSAGES: Record<Code, string> = {
  'parse-error': PARSE_ERROR_MESSAGE,
  'internal-scheme': INTERNAL_SCHEME_MESSAGE,
  'internal-error': INTERNAL_ERROR_MESSAGE,
};

/** The check of one asset against every source. */
export class AssetCheck {
  private readonly logger = new Logger('asset-check');
  private readonly failing = new Set<string>();
  private readonly refusals: Readonly<Record<Code, Answer>>;

  constructor(
    private readonly sources: readonly Source[],
    /** The longest a check waits for look-ups. ms */
    readonly budgetMs: number,
  ) {
    const own = sources.find(({ of }) => of.kind === 'own')!;
    const silent = sources.map(({ id, mode }): SourceAnswer => ({ source: id, status: 'UNKNOWN', mode }));
    const refusal = (code: Code): Answer =>
      Object.freeze({ status: 'UNKNOWN', source: own.id, sources: silent, message: MESSAGES[code], code });
    this.refusals = {
      'parse-error': refusal('parse-error'),
      'internal-scheme': refusal('internal-scheme'),
      'internal-error': refusal('internal-error'),
    };
  }

  /**
   * Answers at once where no look-up has to be waited for. Never throws or rejects.
   * @param deadline `performance.now()` up to which look-ups may take
   */
  check(content: string, deadline = performance.now() + this.budgetMs): Answer | Promise<Answer> {
    try {
      const { reading, code } = readContent(content);
      if (reading === undefined) return this.refusals[code];
      const voices = askAll(this.sources, content.trim(), reading, deadline, (source, error) =>
        this.onFailure(source, error),
      );
      if (!(voices instanceof Promise)) return this.answer(reading, voices);
      return voices.then((all) => this.answer(reading, all)).catch((error: unknown) => this.failed(error));
    } catch (error) {
      return this.failed(error);
    }
  }

  /** What is answered of content that could not be a request of its own. */
  get unreadable(): Answer {
    return this.refusals['parse-error'];
  }

  private answer(reading: Reading, voices: readonly Voice[]): Answer {
    const verdict = decide(voices);
    return {
      status: verdict.status,
      source: verdict.source,
      reason: verdict.reason,
      sources: voices.map(({ source, mode, opinion: { status, reason, match } }) => ({
        source,
        status,
        mode,
        reason,
        match,
      })),
      message: describe(reading, verdict, voices, this.sources),
    };
  }

  private failed(error: unknown): Answer {
    this.logger.error('A check failed', error instanceof Error ? error.stack : error);
    return this.refusals['internal-error'];
  }

  private onFailure(source: string, error: unknown): void {
    // Once a source: what fails on one asset may fail on a thousand a second.
    if (this.failing.has(source)) return;
    this.failing.add(source);
    this.logger.error(`The source ${source} failed`, error instanceof Error ? error.stack : error);
  }
}
