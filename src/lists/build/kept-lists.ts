import type { Guards } from '../../asset-check/lists/guards.js';
import type { ListContent } from '../../asset-check/lists/parse-list.js';
import type { OwnStatuses } from '../../asset-check/own/own-statuses.js';
import type { Source } from '../../asset-check/sources/sources.js';
import { CooperativeYield } from '../../flow/time.js';
import type { Half } from '../expressions.js';
import { indexOfHash } from '../sorted-hashes.js';
import { type Emit, ListBuild } from './build-lists.js';
import { EntryIndex } from './entry-index.js';
import { Groups } from './groups.js';
import { type GroupedHashes, HashCollector, hashOf, replaceGroups } from './hash-set.js';
import { addSuffixes, areListable, guardedBelow, Imitations, markImitable } from './known-hosts.js';
import { concernedBy, Listed, PATTERN, SPECIAL } from './listed.js';
import type { SuffixIndex } from './suffixes.js';

/** The group of the imitations, which depend on no host. */
const IMITATIONS = 0;
const NONE: GroupedHashes = { hashes: new Uint8Array(), groups: new Uint32Array() };

type IsWanted = (group: number) => boolean;

/** Returns a function that is faster than the set for the groups that are not in it, which most are. */
const isIn = (groups: ReadonlySet<number>): IsWanted => {
  const mayHave = new Uint8Array(1 << 16);
  for (const group of groups) mayHave[group & 0xffff] = 1;
  return (group) => mayHave[group & 0xffff] === 1 && groups.has(group);
};

/**
 * The expressions of the verdicts of some sources. After a change of an own status, only those that it may change are
 * made again. Keeps some 25 bytes for each entry.
 */
export class KeptLists {
  private readonly groups: Groups;
  private readonly own: OwnStatuses | undefined;
  private readonly contents: readonly ListContent[];
  private readonly imitations: Imitations;
  private index: EntryIndex;
  private guarded: readonly string[] = [];
  /** The hashes of `all-8b` or `own-8b`. */
  list = NONE;
  ask = NONE;

  /** @param sources own statuses, and lists, whose contents stay the same */
  constructor(
    private readonly sources: readonly Source[],
    private readonly suffixes: SuffixIndex,
    private readonly guards: Guards,
  ) {
    this.groups = new Groups(suffixes);
    this.index = new EntryIndex(this.groups);
    this.own = sources.flatMap(({ of }) => (of.kind === 'own' ? [of.statuses] : []))[0];
    this.contents = sources.flatMap(({ of }) => (of.kind === 'list' && of.list.listed ? [of.list.listed] : []));
    const listable = this.contents.flatMap(({ fuzzy }) =>
      fuzzy?.tolerance === 1 && areListable(fuzzy) ? [fuzzy] : [],
    );
    this.imitations = new Imitations(listable.flatMap(({ names }) => names));
  }

  /** Makes all expressions. Lets other work run in between. */
  async build(): Promise<void> {
    [this.list, this.ask] = await this.expressions();
  }

  /**
   * Makes the expressions again that changes of own statuses may change.
   * @param changed the keys whose status may have changed since the last call began
   */
  async update(changed: ReadonlySet<string>): Promise<void> {
    const groups = await this.groupsOf(changed);
    if (groups === undefined) return this.build();
    const isWanted = isIn(groups);
    const [list, ask] = await this.expressions(isWanted);
    this.list = replaceGroups(this.list, isWanted, list);
    this.ask = replaceGroups(this.ask, isWanted, ask);
  }

  /**
   * Returns the expressions that have these hashes now, by their hashes. Statuses may have changed since the lists were
   * built. Lets other work run in between.
   */
  async expressionsOf(half: Half, hashes: readonly Buffer[]): Promise<ReadonlyMap<bigint, string>> {
    const kept = half === 'ask' ? this.ask : this.list;
    const wanted = new Set<bigint>();
    const groups = new Set<number>();
    const yielding = new CooperativeYield();
    for (const one of hashes) {
      wanted.add(one.readBigUInt64BE());
      const at = indexOfHash(kept.hashes, one);
      if (at !== -1) groups.add(kept.groups[at]!);
      if (yielding.isDue()) await yielding.yieldNow();
    }
    const found = new Map<bigint, string>();
    const add = (of: Half, expression: string): void => {
      const hash = hashOf(expression);
      if (of === half && wanted.has(hash)) found.set(hash, expression);
    };
    await this.emitTo(add, isIn(groups));
    return found;
  }

  /** Calls a function with each expression of the wanted groups; of all, if undefined. */
  async emitTo(emit: Emit, isWanted?: IsWanted): Promise<void> {
    const listed = new Listed(this.groups, isWanted);
    for (const { end } of this.contents.flatMap(({ exemptions }) => exemptions))
      listed.addHost(end.slice(end.indexOf('.') + 1), SPECIAL | PATTERN);
    if (isWanted === undefined) {
      this.index = new EntryIndex(this.groups);
      await this.index.readLists(this.contents, listed);
      this.guarded = await guardedBelow(listed, this.guards, this.imitations);
      await this.index.readOwn(this.own, listed);
    } else this.index.find(isWanted, this.own, listed);
    for (const host of this.guarded) listed.addHost(host, SPECIAL);
    await addSuffixes(listed, this.suffixes);
    await markImitable(listed, this.imitations);
    const build = new ListBuild(this.sources, listed, this.imitations, this.suffixes, this.groups, emit);
    const isEmitted = isWanted ?? (() => true);
    if (isEmitted(IMITATIONS)) for (const form of this.imitations.forms) emit('list', `~${form}`, IMITATIONS);
    build.emitFixed(isEmitted);
    await build.run();
  }

  private async expressions(isWanted?: IsWanted): Promise<[list: GroupedHashes, ask: GroupedHashes]> {
    const [list, ask] = [new HashCollector(), new HashCollector()];
    const collectors = { list, ask };
    await this.emitTo((half, expression, group) => collectors[half].add(expression, group), isWanted);
    return [await list.sorted(), await ask.sorted()];
  }

  /** Returns the groups that changes concern, and those above; undefined if others may be concerned. */
  private async groupsOf(changed: ReadonlySet<string>): Promise<Set<number> | undefined> {
    const groups = new Set<number>();
    const yielding = new CooperativeYield();
    for (const one of changed) {
      if (yielding.isDue()) await yielding.yieldNow();
      this.index.addChanged(one);
      const { hosts, key } = concernedBy(one);
      if (hosts.some((host) => this.groups.reachesOthers(host))) return undefined;
      if (key !== undefined) groups.add(this.groups.ofKey(key));
      const server = key?.startsWith('EMAIL:') ? [key.slice(key.lastIndexOf('@') + 1)] : [];
      for (const host of [...hosts, ...server]) for (const group of this.groups.above(host)) groups.add(group);
    }
    // Imitations do not change with own statuses.
    groups.delete(IMITATIONS);
    return groups;
  }
}
