import { Guards } from '../../asset-check/lists/guards.js';
import type { HostingSuffixes } from '../../asset-check/lists/hosting-suffixes.js';
import type { Source } from '../../asset-check/sources/sources.js';
import { hashOfKey } from '../../assets/asset.js';
import { type BuiltLists, type FoundNames, GUARDS, type ListName } from '../built-lists.js';
import type { Half } from '../expressions.js';
import { type StoredName, namedExpression } from '../names/expression-names.js';
import { KeptLists } from './kept-lists.js';
import { areListable } from './known-hosts.js';
import { SuffixIndex } from './suffixes.js';

const NOT_READ = 'not-read';

/** Returns why a source is not, or not all, in `all-8b`; undefined if it is. */
const whyNotCovered = ({ of, redistribute }: Source): string | undefined => {
  if (of.kind === 'http') return 'lookups';
  if (redistribute !== true) return 'not-redistributed';
  if (of.kind === 'own') return undefined;
  if (of.list.listed === undefined) return NOT_READ;
  return areListable(of.list.listed.fuzzy) ? undefined : 'imitations';
};

/** The sources of which lists were built, their contents then, and the lists. */
interface Kept {
  readonly contents: readonly unknown[];
  readonly all: KeptLists;
  readonly own: KeptLists;
}

const isSame = (one: readonly unknown[], other: readonly unknown[]): boolean =>
  one.length === other.length && one.every((each, n) => each === other[n]);

/** Looks up the names of some hashes. */
const namesOf = async ({ all, own }: Kept, half: Half, hashes: readonly Buffer[]): Promise<FoundNames> => {
  const ofOwn = await own.expressionsOf(half, hashes);
  const expressions = new Map([...(await all.expressionsOf(half, hashes)), ...ofOwn]);
  const names = [...expressions].flatMap(([hash, expression]): StoredName[] => {
    const named = namedExpression(half, expression);
    if (named === undefined) return [];
    const exceptionHost = named.isException ? named.host : undefined;
    return [{ expression, exceptionHost, assetHash: ofOwn.has(hash) ? hashOfKey(named.key) : '' }];
  });
  return { names, changed: hashes.filter((hash) => !expressions.has(hash.readBigUInt64BE())) };
};

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
   * an own status that changes meanwhile is asked in both states, so the caller builds again if one has changed. Not
   * called again before the call has ended.
   * @param now the present, in ms
   * @returns undefined if a list or guard was replaced meanwhile; the next build succeeds unless that happens again
   */
  async build(now: number): Promise<BuiltLists | undefined> {
    const enabled = this.sources.filter(({ mode }) => mode === 'ENABLED');
    const notCovered = enabled.flatMap((source) => {
      const reason = whyNotCovered(source);
      return reason === undefined ? [] : [{ source: source.id, reason }];
    });
    const listed = enabled.filter((source) => ['imitations', undefined].includes(whyNotCovered(source)));
    const kept = await this.keptOf(listed, now);
    if (kept === undefined) return undefined;
    const lists = new Map<ListName, Uint8Array>([
      ['all-8b', kept.all.list.hashes],
      // What own statuses alone leave to the service, all sources together leave to it too.
      ['own-8b', kept.own.list.hashes],
      ['ask-8b', kept.all.ask.hashes],
    ]);
    const unread = notCovered.flatMap(({ source, reason }) => (reason === NOT_READ ? [source] : []));
    return {
      lists,
      covers: listed.map(({ id }) => id),
      notCovered,
      unread: this.guards.areLoaded ? unread : [...unread, GUARDS],
      namesOf: (half, hashes) => namesOf(kept, half, hashes),
    };
  }

  /** A list that is replaced frees its table, so what was built of it may lack entries, and is not kept. */
  private async keptOf(listed: readonly Source[], now: number): Promise<Kept | undefined> {
    const { kept } = this;
    // What changes from now on, while own statuses are asked, is asked again by the next build.
    const changed = this.takeChanges(now);
    const contents = this.contentsOf(listed);
    // Undefined until the work has succeeded, because the changes are no longer known then.
    this.kept = undefined;
    const isKept = kept !== undefined && isSame(kept.contents, contents) && changed !== undefined;
    const next = isKept ? kept : this.newKept(listed, contents);
    for (const lists of [next.all, next.own]) await (isKept ? lists.update(changed) : lists.build());
    if (!isSame(this.contentsOf(listed), contents)) return undefined;
    return (this.kept = next);
  }

  private newKept(listed: readonly Source[], contents: readonly unknown[]): Kept {
    const ownOnly = listed.filter(({ of }) => of.kind === 'own');
    const all = new KeptLists(listed, this.suffixes, this.guards);
    return { contents, all, own: new KeptLists(ownOnly, this.suffixes, new Guards()) };
  }

  /** What lists and guards consist of now. */
  private contentsOf(listed: readonly Source[]): readonly unknown[] {
    return [this.guards.version, ...listed.map(({ of }) => (of.kind === 'list' ? of.list.listed : undefined))];
  }

  /** Returns the keys of the own statuses that have changed; undefined if that is not known. */
  private takeChanges(now: number): ReadonlySet<string> | undefined {
    const own = this.sources.find(({ of }) => of.kind === 'own')?.of;
    return own?.kind === 'own' ? own.statuses.takeChanges(now) : new Set();
  }
}
