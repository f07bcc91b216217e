import type { Reading } from '../../assets/read-content.js';
import { FAILED, type Mode, type Opinion, SILENT } from '../opinion.js';
import type { Voice } from '../verdict.js';
import { askedText } from './list-opinion.js';
import type { ListSource } from './list-source.js';
import type { LookUpSource } from './look-up-source.js';
import type { OwnStatuses } from './own-statuses.js';
import { SuffixHashes } from './suffix-hashes.js';

/** One configured source. */
export interface Source {
  readonly id: string;
  readonly mode: Mode;
  readonly appeal?: string;
  readonly of:
    | { readonly kind: 'own'; readonly statuses: OwnStatuses }
    | { readonly kind: 'list'; readonly list: ListSource }
    | { readonly kind: 'http'; readonly lookUp: LookUpSource };
}

const hashes = new SuffixHashes();

/**
 * Asks every source, in order. Answers at once where all of them answer from memory.
 * @param deadline `performance.now()` up to which look-ups may take
 * @param onFailure told of a source that threw, which then has failed and nothing else has
 */
export const askAll = (
  sources: readonly Source[],
  content: string,
  reading: Reading,
  deadline: number,
  onFailure: (source: string, error: unknown) => void,
): readonly Voice[] | Promise<readonly Voice[]> => {
  // One pass for all lists; nothing below awaits before it has been used.
  hashes.read(askedText(reading), reading.hostIsName);
  let isPending = false;
  const opinions = sources.map((source) => {
    if (source.mode === 'DISABLED') return SILENT;
    try {
      const opinion = ask(source, content, reading, deadline);
      isPending ||= opinion instanceof Promise;
      return opinion;
    } catch (error) {
      onFailure(source.id, error);
      return FAILED;
    }
  });
  if (!isPending) return voices(sources, opinions as Opinion[]);
  return Promise.all(opinions.map((opinion) => Promise.resolve(opinion))).then((all) => voices(sources, all));
};

const ask = ({ of }: Source, content: string, reading: Reading, deadline: number): Opinion | Promise<Opinion> => {
  if (of.kind === 'list') return of.list.ask(reading, hashes);
  return of.kind === 'own' ? of.statuses.ask(reading) : of.lookUp.ask(content, reading, deadline);
};

const voices = (sources: readonly Source[], opinions: readonly Opinion[]): readonly Voice[] =>
  sources.map(({ id, mode, of }, index) => ({
    source: id,
    isOwn: of.kind === 'own',
    mode,
    opinion: opinions[index]!,
  }));
