import { Guards } from '../../asset-check/lists/guards.js';
import type { HostingSuffixes } from '../../asset-check/lists/hosting-suffixes.js';
import type { Source } from '../../asset-check/sources/sources.js';
import type { BuiltLists, ListName } from '../built-lists.js';
import { KeptLists } from './kept-lists.js';
import { areListable } from './known-hosts.js';
import { SuffixIndex } from './suffixes.js';

/** Returns why a source is not, or not all, in `all-8b`; undefined if it is. */
const whyNotCovered = ({ of, redistribute }: Source): string | undefined => {
  if (of.kind === 'http') return 'lookups';
  if (redistribute !== true) return 'not-redistributed';
  if (of.kind === 'own') return undefined;
  if (of.list.listed === undefined) return 'not-read';
  return areListable(of.list.listed.fuzzy) ? undefined : 'imitations';
};

/** The sources of which lists were built, their contents then, and the lists. */
interface Kept {
  readonly contents: readonly unknown[];
  readonly all: KeptLists;
  readonly own: KeptLists;
}

/** Builds the local lists from the verdicts of the sources. */
export class ListBuilder {
  private readonly suffixes: SuffixIndex;
  private kept: Kept | undefined;

  /** @param sources the configured sources, without guards */
  constructor(
    private readonly sources: readonly Source[],
    suffixes: HostingSuffixes,
    private readonly guards = new Guards(),
  ) {
    this.suffixes = new SuffixIndex(suffixes);
  }

  /**
   * Builds the lists; only anew what may have changed, if only own statuses have changed. Lets other work run in between;
   * a source that changes meanwhile is asked in both states, so the caller builds again if one has changed. Not called
   * again before the call has ended.
   * @param now the present, in ms
   */
  async build(now: number): Promise<BuiltLists> {
    const enabled = this.sources.filter(({ mode }) => mode === 'ENABLED');
    const notCovered = enabled.flatMap((source) => {
      const reason = whyNotCovered(source);
      return reason === undefined ? [] : [{ source: source.id, reason }];
    });
    const listed = enabled.filter((source) => ['imitations', undefined].includes(whyNotCovered(source)));
    const { all, own } = await this.keptOf(listed, now);
    const lists = new Map<ListName, Uint8Array>([
      ['all-8b', all.list.hashes],
      // What own statuses alone leave to the service, all sources together leave to it too.
      ['own-8b', own.list.hashes],
      ['ask-8b', all.ask.hashes],
    ]);
    return { lists, covers: listed.map(({ id }) => id), notCovered };
  }

  private async keptOf(listed: readonly Source[], now: number): Promise<Kept> {
    const { kept } = this;
    // What changes from now on, while own statuses are asked, is asked again by the next build.
    const changed = this.takeChanges(now);
    const contents = [
      this.guards.version,
      ...listed.map(({ of }) => (of.kind === 'list' ? of.list.listed : undefined)),
    ];
    const isSame = kept?.contents.length === contents.length && contents.every((one, n) => one === kept.contents[n]);
    // Undefined until the work has succeeded, because the changes are no longer known then.
    this.kept = undefined;
    if (kept !== undefined && isSame && changed !== undefined) {
      await kept.all.update(changed);
      await kept.own.update(changed);
      return (this.kept = kept);
    }
    const ownOnly = listed.filter(({ of }) => of.kind === 'own');
    const all = new KeptLists(listed, this.suffixes, this.guards);
    const own = new KeptLists(ownOnly, this.suffixes, new Guards());
    await all.build();
    await own.build();
    return (this.kept = { contents, all, own });
  }

  /** Returns the keys of the own statuses that have changed; undefined if that is not known. */
  private takeChanges(now: number): ReadonlySet<string> | undefined {
    const own = this.sources.find(({ of }) => of.kind === 'own')?.of;
    return own?.kind === 'own' ? own.statuses.takeChanges(now) : new Set();
  }
}
