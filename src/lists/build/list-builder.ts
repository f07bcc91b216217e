import { Guards } from '../../asset-check/lists/guards.js';
import type { HostingSuffixes } from '../../asset-check/lists/hosting-suffixes.js';
import type { Source } from '../../asset-check/sources/sources.js';
import type { BuiltLists, ListName } from '../built-lists.js';
import { buildExpressions } from './build-lists.js';
import { HashCollector } from './hash-set.js';
import { SuffixIndex } from './suffixes.js';

/** Returns why a source is not, or not all, in `all-8b`; undefined if it is. */
const whyNotCovered = ({ of, redistribute }: Source): string | undefined => {
  if (of.kind === 'http') return 'lookups';
  if (redistribute !== true) return 'not-redistributed';
  if (of.kind === 'own') return undefined;
  if (of.list.listed === undefined) return 'not-read';
  return (of.list.listed.fuzzy?.tolerance ?? 1) > 1 ? 'imitations' : undefined;
};

/** Builds the local lists from the verdicts of the sources. */
export class ListBuilder {
  private readonly suffixes: SuffixIndex;

  /** @param sources the configured sources, without guards */
  constructor(
    private readonly sources: readonly Source[],
    suffixes: HostingSuffixes,
    private readonly guards = new Guards(),
  ) {
    this.suffixes = new SuffixIndex(suffixes);
  }

  /**
   * Builds the lists. Lets other work run in between; a source that changes meanwhile is asked in both states, so the
   * caller builds again if one has changed.
   */
  async build(): Promise<BuiltLists> {
    const enabled = this.sources.filter(({ mode }) => mode === 'ENABLED');
    const notCovered = enabled.flatMap((source) => {
      const reason = whyNotCovered(source);
      return reason === undefined ? [] : [{ source: source.id, reason }];
    });
    const listed = enabled.filter((source) => ['imitations', undefined].includes(whyNotCovered(source)));
    const [all, own, ask] = [new HashCollector(), new HashCollector(), new HashCollector()];
    await buildExpressions(listed, this.suffixes, this.guards, (half, expression) =>
      (half === 'ask' ? ask : all).add(expression),
    );
    // What own statuses alone leave to the service, all sources together leave to it too.
    const ownOnly = listed.filter(({ of }) => of.kind === 'own');
    await buildExpressions(ownOnly, this.suffixes, new Guards(), (half, expression) => {
      if (half === 'list') own.add(expression);
    });
    const lists = new Map<ListName, Uint8Array>([
      ['all-8b', all.take()],
      ['own-8b', own.take()],
      ['ask-8b', ask.take()],
    ]);
    return { lists, covers: listed.map(({ id }) => id), notCovered };
  }
}
