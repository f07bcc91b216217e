import type { ParsedContent } from '../../assets/parse-content.js';
import { FAILED, type Mode, type Opinion, NOT_ASKED } from '../opinion.js';
import type { SourceOpinion } from '../verdict.js';
import { lookupText } from '../lists/match-list.js';
import type { ListSource } from '../lists/list-source.js';
import type { LookupSource } from '../lookups/lookup-source.js';
import type { OwnStatuses } from '../own/own-statuses.js';
import type { SuffixHashes } from '../lists/suffix-hashes.js';

/** One configured source. */
export interface Source {
  readonly id: string;
  readonly mode: Mode;
  readonly appeal?: string;
  readonly of:
    | { readonly kind: 'own'; readonly statuses: OwnStatuses }
    | { readonly kind: 'list'; readonly list: ListSource }
    | { readonly kind: 'http'; readonly lookUp: LookupSource };
}

/** What the sources are asked. */
export interface Question {
  readonly content: string;
  readonly reading: ParsedContent;
  /** `performance.now()` until which lookups may take. */
  readonly deadline: number;
  /** Overwritten with the hashes of this host. */
  readonly hashes: SuffixHashes;
}

/**
 * Queries every source, in order. Synchronous if all of them answer from memory.
 * @param onFailure called for a source that threw; the other sources still count
 */
export const querySources = (
  sources: readonly Source[],
  question: Question,
  onFailure: (source: string, error: unknown) => void,
): readonly SourceOpinion[] | Promise<readonly SourceOpinion[]> => {
  // One pass for all lists, used before anything is awaited.
  question.hashes.read(lookupText(question.reading), question.reading.isDnsName);
  let isPending = false;
  const opinions = sources.map((source) => {
    if (source.mode === 'DISABLED') return NOT_ASKED;
    try {
      const opinion = ask(source, question);
      isPending ||= opinion instanceof Promise;
      return opinion;
    } catch (error) {
      onFailure(source.id, error);
      return FAILED;
    }
  });
  if (!isPending) return bySource(sources, opinions as Opinion[]);
  return Promise.all(opinions.map((opinion) => Promise.resolve(opinion))).then((all) => bySource(sources, all));
};

const ask = ({ of }: Source, { content, reading, deadline, hashes }: Question): Opinion | Promise<Opinion> => {
  if (of.kind === 'list') return of.list.ask(reading, hashes);
  return of.kind === 'own' ? of.statuses.ask(reading) : of.lookUp.ask(content, reading, deadline);
};

const bySource = (sources: readonly Source[], opinions: readonly Opinion[]): readonly SourceOpinion[] =>
  sources.map(({ id, mode, of }, index) => ({
    source: id,
    isOwn: of.kind === 'own',
    mode,
    opinion: opinions[index]!,
  }));
